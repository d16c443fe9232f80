// What `restante send` makes of files and answers, without a server.
#include "cli/send.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/exit_codes.h"
#include "cli/failed.h"
#include "cli/sweep.h"
#include "cli/uploads.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Time kNow = *parse_time("2026-11-15T12:00:00Z");

Json json(std::string_view text) { return parse_json(text).value(); }

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const CommandFailed& failed) {
    return failed.what();
  }
  return "was not refused";
}

class Files : public ::testing::Test {
 protected:
  Files() {
    auto name = (std::filesystem::temp_directory_path() / "restante-send-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string make(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string read_all(Form& form, std::size_t piece) {
    std::string all;
    std::vector<char> buffer(piece);
    while (const std::size_t got = form.read(buffer)) all.append(buffer.data(), got);
    return all;
  }

  std::string folder_;
};

using FormTest = Files;
using DescribeFile = Files;

TEST_F(FormTest, IsTheSameInPiecesOfEverySizeAndAsLongAsItSays) {
  Form form({describe_file(make("a.txt", "hello")), describe_file(make("q\"uote\n.bin", std::string(1000, '\0')))});
  const std::string whole = read_all(form, 1 << 16);
  EXPECT_EQ(whole.size(), form.length());
  for (const std::size_t piece : {1, 2, 7, 64, 999}) {
    form.rewind();
    EXPECT_EQ(read_all(form, piece), whole) << piece;
  }
  EXPECT_THAT(whole,
              AllOf(HasSubstr("name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--"),
                    HasSubstr("filename=\"q%22uote%0A.bin\"\r\nContent-Type: application/octet-stream")));
  EXPECT_THAT(form.content_type(), HasSubstr("multipart/form-data; boundary="));
}

TEST_F(FormTest, StartsAgainFromTheMiddle) {
  Form form({describe_file(make("a.txt", "hello"))});
  const std::string whole = read_all(form, 100);
  form.rewind();
  std::vector<char> some(whole.find("hello") + 2);
  while (form.read(some) == some.size()) break;
  form.rewind();
  EXPECT_EQ(read_all(form, 100), whole);
}

TEST_F(FormTest, AFileThatShrinksIsNamed) {
  const std::string path = make("a.txt", "hello");
  Form form({describe_file(path)});
  make("a.txt", "he");
  EXPECT_THAT(refusal([&] { read_all(form, 100); }), AllOf(HasSubstr("a.txt"), HasSubstr("shorter")));
}

TEST_F(DescribeFile, RefusesWhatNobodyCouldReceive) {
  EXPECT_THAT(refusal([&] { describe_file(folder_ + "/none"); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { describe_file(folder_); }), HasSubstr("pack it"));
  EXPECT_THAT(refusal([&] { describe_file(make("empty", "")); }), HasSubstr("empty"));
}

TEST(MediaType, IsGuessedFromTheEndingInAnyCase) {
  EXPECT_EQ(media_type_of("a.PDF"), "application/pdf");
  EXPECT_EQ(media_type_of("archive.tar.gz"), "application/gzip");
  EXPECT_EQ(media_type_of("Makefile"), "application/octet-stream");
}

TEST(BatchFiles, FillsRequestsWithinTheLimitsAndInOrder) {
  const auto limits = json(R"({"per_file_bytes":1000000,"per_request_bytes":2100000,"max_files":3})");
  const auto file = [](std::string name, std::uint64_t size) { return FormFile{name, name, "a/b", size}; };
  const auto by_count = batch_files({file("1", 1), file("2", 1), file("3", 1), file("4", 1)}, limits);
  ASSERT_EQ(by_count.size(), 2u);
  EXPECT_EQ(by_count[0].size(), 3u);
  EXPECT_EQ(by_count[1][0].name, "4");
  const auto by_bytes = batch_files({file("1", 900000), file("2", 900000), file("3", 900000)}, limits);
  ASSERT_EQ(by_bytes.size(), 2u);
  EXPECT_EQ(by_bytes[0].size(), 2u);
  EXPECT_THAT(refusal([&] { batch_files({file("big.iso", 1000001)}, limits); }),
              AllOf(HasSubstr("big.iso"), HasSubstr("at most 1000000 (976.6 KiB) a file")));
}

TEST(MessageBody, NamesTheFilesAsTheServerDid) {
  const auto body =
      message_body("hi", {json(R"({"uri":"platform-pending:w/f","name":"a","mimeType":"","size":3,"sha256":"x"})")});
  EXPECT_THAT(
      body,
      AllOf(HasSubstr(R"({"kind":"text","text":"hi"})"),
            HasSubstr(R"({"kind":"file","file":{"uri":"platform-pending:w/f","name":"a","mimeType":"","size":3}})")));
}

TEST(DescribeState, SaysDeliveredOnlyOfWhatWasAcknowledged) {
  EXPECT_EQ(describe_state(json(R"({"state":"acked"})")).text, "delivered");
  EXPECT_EQ(describe_state(json(R"({"state":"fetched"})")).text, "fetched, not yet acknowledged");
  EXPECT_EQ(describe_state(json(R"({"state":"failed","reason":"disk full"})")).text, "failed: disk full");
}

TEST(FormatBytes, IsShortAndRight) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(25u << 20), "25.0 MiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
}

TEST(FormatProgress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(format_progress(10 << 20, 20 << 20, std::chrono::seconds(2), 100),
            "[===============>              ]  50 %  10.0 MiB of 20.0 MiB  5.0 MiB/s  2 s left");
  EXPECT_EQ(format_progress(20 << 20, 20 << 20, std::chrono::seconds(4), 100),
            "[==============================] 100 %  20.0 MiB of 20.0 MiB  5.0 MiB/s");
  EXPECT_EQ(format_progress(0, 1 << 20, std::chrono::seconds(0), 100).find("left"), std::string::npos);
}

TEST(FormatProgress, FitsANarrowTerminal) {
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_LE(format_progress(123456, 9999999, std::chrono::minutes(70), width).size(), width);
  }
}

TEST(UploadList, SaysWhatWaitsForWhomAndHowLong) {
  const auto shown = format_uploads(
      json(
          R"({"uploads":[{"file_id":"f1","workspace_id":"w1","workspace_name":"Laptop","name":"a.pdf","size":2048,"state":"fetched",
               "created_at":"2026-11-15T11:58:00.000000Z","expires_at":"2026-11-16T11:58:00.000000Z"}]})"),
      kNow, Colours::off);
  EXPECT_EQ(shown,
            "FOR     FILE   SIZE     SENT       STATE                          EXPIRES  ID\n"
            "Laptop  a.pdf  2.0 KiB  2 min ago  fetched, not yet acknowledged  in 23 h  f1\n");
  EXPECT_EQ(format_uploads(json(R"({"uploads":[]})"), kNow, Colours::off), "No file is in this state.\n");
}

TEST(Sweep, SaysWhatWentOrThatNothingWasDue) {
  EXPECT_EQ(format_sweep(json(R"({"acked":0,"expired":0,"orphans":0})")), "Nothing was due.\n");
  EXPECT_THAT(format_sweep(json(R"({"acked":2,"expired":1,"orphans":3})")), HasSubstr("2 acknowledged and 1 expired"));
}

}  // namespace
}  // namespace restante::cli
