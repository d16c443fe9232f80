#include "agent/answer_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace restante::agent {
namespace {

std::string refusal(std::string_view line) {
  const auto parsed = parse_answer_line(line);
  return parsed.has_error() ? parsed.error().sentence : "was not refused";
}

TEST(AnswerLine, HasADeliveryATextAndFiles) {
  const auto answer = parse_answer_line(R"({"reply_to":"a","text":"t","files":["/x","y"],"failed":true})").value();
  EXPECT_EQ(answer.reply_to, "a");
  EXPECT_EQ(answer.text, "t");
  EXPECT_EQ(answer.files, (std::vector<std::string>{"/x", "y"}));
  EXPECT_TRUE(answer.failed);
  EXPECT_EQ(parse_answer_line(R"({"text":"t"})").value().reply_to, "");
}

TEST(AnswerLine, AMistakeIsRefusedWithASentence) {
  for (const char* line : {"", "hello", "[]", "{", R"({"text":"a"}{"text":"b"})"})
    EXPECT_EQ(refusal(line).find("an answer is one JSON object"), 0u) << line;
  EXPECT_NE(refusal(R"({"reply":"a","text":"t"})").find("no member \"reply\""), std::string::npos);
  EXPECT_EQ(refusal(R"({"text":7})"), "text must be a text");
  EXPECT_EQ(refusal(R"({"text":"a","files":"x"})"), "files must be a list of paths");
  EXPECT_EQ(refusal(R"({"text":"a","files":[7]})"), "files must be a list of paths");
  EXPECT_EQ(refusal(R"({"reply_to":"a"})"), "an answer needs a text or files");
}

TEST(AnswerLine, LinesAreReadUntilTheEndAndOneThatIsTooLongIsGivenOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    const std::string text = "one\n\n" + std::string(9 << 20, 'x') + "\ntwo\nrest";
    for (std::size_t at = 0; at < text.size();) {
      const auto written = write(ends[1], text.data() + at, text.size() - at);
      if (written <= 0) _exit(1);
      at += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<std::string> lines;
  const Stop stop;
  read_lines(ends[0], stop, [&](std::string_view line) { lines.emplace_back(line.substr(0, 8)); });
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "xxxxxxxx", "two", "rest"}));
  close(ends[0]);
}

}  // namespace
}  // namespace restante::agent
