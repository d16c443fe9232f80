#include "cli/chat/chat.h"

#include <gmock/gmock.h>

#include "cli/chat/answers.h"
#include "cli/remote/test_remote.h"
#include "cli/uploads/save.h"

namespace restante::cli {
namespace {

using What = ChatInput::What;

TEST(ChatInput, ALineIsAMessageUnlessItBeginsWithASlash) {
  EXPECT_EQ(parse_chat_input("  ").what, What::nothing);
  EXPECT_EQ(parse_chat_input(" hello there ").text, "hello there");
  EXPECT_EQ(parse_chat_input("//not a command").text, "/not a command");
  EXPECT_EQ(parse_chat_input("/quit").what, What::quit);
  EXPECT_EQ(parse_chat_input("/help").what, What::help);
  EXPECT_EQ(parse_chat_input("/fiel a.txt").what, What::unknown);
  EXPECT_EQ(parse_chat_input("/file").what, What::unknown) << "a path is missing";
}

TEST(ChatInput, AFileHasAPathWithQuotesWhereNeededAndAText) {
  const auto plain = parse_chat_input("/file a.txt have a look");
  EXPECT_EQ(plain.what, What::file);
  EXPECT_EQ(plain.value, "a.txt");
  EXPECT_EQ(plain.text, "have a look");
  const auto quoted = parse_chat_input("/file 'my report.pdf'  read it");
  EXPECT_EQ(quoted.value, "my report.pdf");
  EXPECT_EQ(quoted.text, "read it");
  EXPECT_EQ(parse_chat_input("/save").value, ".");
  EXPECT_EQ(parse_chat_input("/save out").value, "out");
}

TEST(ChatMessage, FurtherLinesAreIndentedAndNothingControlsTheTerminal) {
  EXPECT_EQ(format_chat_message("", "Ada", "one\ntwo\x1b[2J\n", Colours::off), " Ada: one\n      two [2J\n");
}

TEST(Answers, OnlyAMessageOfTheAgentIsAnAnswer) {
  const auto answer = answer_in(json(
      R"({"activity_type":"a2a_receive","method":"notify","response_body":{"result":"hi","reply_to":"r",
          "parts":[{"kind":"file","file":{"uri":"platform-pending:w/f","name":"a"}}]}})"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "hi");
  EXPECT_EQ(answer->reply_to, "r");
  ASSERT_EQ(answer->files.size(), 1u);
  EXPECT_EQ(answer->files[0].text("name"), "a");
  EXPECT_FALSE(answer_in(json(R"({"activity_type":"a2a_receive","method":"message/send","request_body":{}})")));
  EXPECT_FALSE(answer_in(json(R"({"activity_type":"agent_log","method":"notify","response_body":{"result":"x"}})")));
}

TEST(Answers, ACallbacksAnswerIsReadAsMessageOrTaskAndAQueuedMessageHasNone) {
  EXPECT_FALSE(answer_of_callback(json(R"({"status":"queued","seq":1})")));
  EXPECT_EQ(answer_of_callback(json(R"({"result":{"parts":[{"kind":"text","text":"a"}]}})"))->text, "a");
  EXPECT_EQ(answer_of_callback(json(R"({"result":{"status":{"message":{"parts":[{"text":"b"}]}},
      "artifacts":[{"parts":[{"text":"c"}]}]}})"))
                ->text,
            "b\n\nc");
}

TEST(SavedName, IsSafeVisibleAndNumbered) {
  EXPECT_EQ(saved_name("../../etc/passwd", 1), "passwd");
  EXPECT_EQ(saved_name(".bashrc", 1), "_bashrc");
  EXPECT_EQ(saved_name("chart.png", 2), "chart-2.png");
  EXPECT_EQ(saved_name("Makefile", 3), "Makefile-3");
}

}  // namespace
}  // namespace restante::cli
