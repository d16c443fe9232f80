// Tests the functions of `restante send` that need no server.
#include "cli/uploads/send.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/test_folder.h"
#include "cli/format.h"
#include "cli/remote/test_remote.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

FormFile describe_file(const std::string& path) { return describe_files({path}).front(); }

class Files : public ::testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& content) { return folder_.make(name, content); }
  static std::string read_all(client::Form& form, std::size_t piece) {
    std::string all;
    std::vector<char> buffer(piece);
    while (const std::size_t got = form.read(buffer)) all.append(buffer.data(), got);
    return all;
  }

  TestFolder folder_;
};

using FormTest = Files;
using DescribeFile = Files;

TEST_F(FormTest, IsTheSameInPiecesOfEverySizeAndHasTheAnnouncedLength) {
  client::Form form(
      {describe_file(make("a.txt", "hello")), describe_file(make("q\"uote\r\n.bin", std::string(1000, '\0')))});
  const std::string whole = read_all(form, 1 << 16);
  EXPECT_EQ(whole.size(), form.length());
  for (const std::size_t piece : {1, 2, 7, 64, 999}) {
    form.rewind();
    EXPECT_EQ(read_all(form, piece), whole) << piece;
  }
  EXPECT_THAT(whole,
              AllOf(HasSubstr("name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--"),
                    HasSubstr("filename=\"q%22uote%0D%0A.bin\"\r\nContent-Type: application/octet-stream")));
  EXPECT_THAT(form.content_type(), HasSubstr("multipart/form-data; boundary="));
}

TEST_F(FormTest, StartsAgainFromTheMiddle) {
  client::Form form({describe_file(make("a.txt", "hello"))});
  const std::string whole = read_all(form, 100);
  form.rewind();
  std::vector<char> some(whole.find("hello") + 2);
  while (form.read(some) == some.size()) break;
  form.rewind();
  EXPECT_EQ(read_all(form, 100), whole);
}

TEST_F(FormTest, AFileThatShrinksIsNamed) {
  const std::string path = make("a.txt", "hello");
  client::Form form({describe_file(path)});
  make("a.txt", "he");
  EXPECT_THAT(refusal([&] { read_all(form, 100); }), AllOf(HasSubstr("a.txt"), HasSubstr("shorter")));
}

TEST_F(FormTest, AFileThatIsNoLongerThereOrNoLongerAFileIsNamed) {
  const std::string path = make("a.txt", "hello");
  client::Form form({describe_file(path)});
  std::filesystem::remove(path);
  EXPECT_THAT(refusal([&] { read_all(form, 100); }), AllOf(HasSubstr("a.txt"), HasSubstr("No such file")));
  std::filesystem::create_directory(path);
  form.rewind();
  EXPECT_THAT(refusal([&] { read_all(form, 100); }), AllOf(HasSubstr("a.txt"), HasSubstr("Is a directory")));
}

std::atomic<int> g_signals{0};

// Network file systems interrupt a read; here a pipe in place of the file does.
TEST_F(FormTest, AnInterruptedReadContinues) {
  const std::string path = make("a.txt", "hello");
  client::Form form({describe_file(path)});
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  struct sigaction counting{};
  struct sigaction before{};
  counting.sa_handler = [](int) { ++g_signals; };
  ASSERT_EQ(::sigaction(SIGUSR1, &counting, &before), 0);
  std::string whole;
  std::thread reader([&] { whole = read_all(form, 100); });
  {
    std::ofstream pipe(path, std::ios::binary);  // waits for the reader
    for (int sent = 0; g_signals < 50 && sent < 60'000; ++sent) {
      ::pthread_kill(reader.native_handle(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pipe << "hello";
  }
  reader.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GE(g_signals, 50);
  EXPECT_THAT(whole, HasSubstr("\r\n\r\nhello\r\n--"));
}

TEST_F(DescribeFile, IsNamedByTheLastPartOfItsPath) {
  const auto here = std::filesystem::current_path();
  make("a.txt", "hello");
  std::filesystem::current_path(folder_.path());
  EXPECT_EQ(describe_file("a.txt").name, "a.txt");
  EXPECT_EQ(describe_file("./a.txt").name, "a.txt");
  EXPECT_EQ(describe_file(folder_.string() + "//a.txt").name, "a.txt");
  std::filesystem::current_path(here);
}

TEST_F(DescribeFile, RefusesAFileThatMayNotBeRead) {
  const std::string path = make("secret.txt", "hello");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path, std::filesystem::perms(0));
  const auto try_it = [&] {
    // Root may read everything, so the test runs as another user.
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) std::_Exit(2);
    const std::string sentence = refusal([&] { describe_file(path); });
    std::_Exit(sentence == "--file " + path + ": Permission denied" ? 0 : 1);
  };
  EXPECT_EXIT(try_it(), ::testing::ExitedWithCode(0), "");
}

TEST_F(DescribeFile, RefusesAFileThatIsMissingAFolderOrEmpty) {
  EXPECT_THAT(refusal([&] { describe_file(folder_ / "none"); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { describe_file(folder_.string()); }), HasSubstr("pack it"));
  EXPECT_THAT(refusal([&] { describe_file(make("empty", "")); }), HasSubstr("empty"));
}

TEST(MediaType, IsGuessedFromTheEndingInAnyCase) {
  EXPECT_EQ(client::media_type_of("a.PDF"), "application/pdf");
  EXPECT_EQ(client::media_type_of("archive.tar.gz"), "application/gzip");
  EXPECT_EQ(client::media_type_of("Makefile"), "application/octet-stream");
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

TEST(BatchFiles, AServerThatNamesNoLimitsGetsOneFileAtATime) {
  const std::vector<FormFile> files(3, FormFile{"a", "a", "a/b", 1ull << 40});
  for (const char* limits : {"{}", R"({"per_file_bytes":"many","per_request_bytes":null,"max_files":[]})"}) {
    EXPECT_EQ(batch_files(files, json(limits)).size(), 3u) << limits;
  }
  EXPECT_EQ(batch_files(files, json(R"({"max_files":2})")).size(), 2u);
}

TEST(MessageBody, LeavesOutMembersThatTheServerDidNotSend) {
  const auto body = message_body("", {json(R"({"uri":"workspace:/a","name":null})")}, "m");
  EXPECT_THAT(body, HasSubstr(R"("parts":[{"kind":"file","file":{"uri":"workspace:/a"}}])"));
}

TEST(MessageBody, NamesTheFilesAsTheServerDid) {
  const auto body = message_body(
      "hi", {json(R"({"uri":"platform-pending:w/f","name":"a","mimeType":"","size":3,"sha256":"x"})")}, "m");
  EXPECT_THAT(
      body,
      AllOf(HasSubstr(R"({"kind":"text","text":"hi"})"),
            HasSubstr(R"({"kind":"file","file":{"uri":"platform-pending:w/f","name":"a","mimeType":"","size":3}})")));
}

TEST(DescribeState, OnlyAnAcknowledgedFileIsCalledDelivered) {
  EXPECT_EQ(describe_state(json(R"({"state":"acked"})")).text, "delivered");
  EXPECT_EQ(describe_state(json(R"({"state":"fetched"})")).text, "fetched, not yet acknowledged");
  EXPECT_EQ(describe_state(json(R"({"state":"failed","reason":"disk full"})")).text, "failed: disk full");
  EXPECT_EQ(describe_state(json(R"({"state":"failed","reason":null})")).text, "failed: the agent gave no reason");
  EXPECT_EQ(describe_state(json(R"({"state":"staged"})")).text, "waiting");
  EXPECT_EQ(describe_state(json(R"({"state":"expired"})")).text, "expired before the agent took it");
  EXPECT_EQ(describe_state(json(R"({"state":"recalled"})")).text, "recalled");
  EXPECT_EQ(describe_state(json(R"({"state":"of a later server"})")).text, "of a later server");
}

TEST(FormatBytes, IsShortAndRight) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(25u << 20), "25.0 MiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(1ull << 40), "1.0 TiB");
  EXPECT_EQ(format_bytes(1ull << 52), "4096.0 TiB");
}

TEST(FormatProgress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(format_progress(10 << 20, 20 << 20, std::chrono::seconds(2), 100),
            "[===============>              ]  50 %  10.0 MiB of 20.0 MiB  5.0 MiB/s  2 s left");
  EXPECT_EQ(format_progress(20 << 20, 20 << 20, std::chrono::seconds(4), 100),
            "[==============================] 100 %  20.0 MiB of 20.0 MiB  5.0 MiB/s");
  EXPECT_EQ(format_progress(0, 1 << 20, std::chrono::seconds(0), 100).find("left"), std::string::npos);
  EXPECT_THAT(format_progress(1, 100, std::chrono::seconds(1), 100), HasSubstr("  1 min 39 s left"));
  EXPECT_THAT(format_progress(1, 7322, std::chrono::seconds(1), 100), HasSubstr("  2 h 2 min left"));
  EXPECT_THAT(format_progress(0, 0, std::chrono::seconds(1), 100), HasSubstr("] 100 %  0 B of 0 B"));
}

TEST(FormatProgress, FitsANarrowTerminal) {
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_LE(format_progress(123456, 9999999, std::chrono::minutes(70), width).size(), width);
  }
}

TEST(UploadList, ShowsWhichFilesWaitForWhomAndHowLong) {
  const auto shown = format_uploads(
      json(
          R"({"uploads":[{"file_id":"f1","workspace_id":"w1","workspace_name":"Laptop","name":"a.pdf","size":2048,"state":"fetched",
               "created_at":"2026-11-15T11:58:00.000000Z","expires_at":"2026-11-16T11:58:00.000000Z"}]})"),
      kNow, Colours::off);
  EXPECT_EQ(shown,
            "FOR     FILE   SIZE     SENT       STATE                          EXPIRES  ID\n"
            "Laptop  a.pdf  2.0 KiB  2 min ago  fetched, not yet acknowledged  in 23 h  f1\n");
  for (const char* none : {R"({"uploads":[]})", R"({"uploads":7})", "{}"}) {
    EXPECT_EQ(format_uploads(json(none), kNow, Colours::off), "No file is in this state.\n") << none;
  }
}

TEST(UploadList, AWorkspaceWithoutANameIsShownByItsId) {
  const auto shown = format_uploads(json(R"({"uploads":[{"workspace_id":"w1","workspace_name":null,"name":"a",
      "size":"unknown","state":"staged"}]})"),
                                    kNow, Colours::off);
  EXPECT_THAT(shown, AllOf(HasSubstr("\nw1 "), HasSubstr(" 0 B ")));
}

TEST(UploadList, ShowsThatThereAreMoreFiles) {
  const auto shown = [](int files) {
    std::string rows;
    for (int i = 0; i < files; ++i) rows += std::string(i ? "," : "") + R"({"name":"a","state":"staged"})";
    return format_uploads(json(R"({"uploads":[)" + rows + "]}"), kNow, Colours::off);
  };
  EXPECT_THAT(shown(500), Not(HasSubstr("more than")));
  const std::string cut = shown(501);
  EXPECT_THAT(cut, HasSubstr("\nThere are more than these 500: --workspace and --state narrow it down"));
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), 502) << "a heading, the rows and one line about the rest";
}

TEST(UploadList, AFileFromTheAgentIsNotShownAsWaiting) {
  const auto shown = [](std::string_view facts) {
    return format_uploads(json(R"({"uploads":[{"name":"a",)" + std::string(facts) + "}]}"), kNow, Colours::off);
  };
  EXPECT_THAT(shown(R"("direction":"out","state":"staged")"),
              AllOf(HasSubstr("from the agent"), Not(HasSubstr("waiting"))));
  EXPECT_THAT(shown(R"("direction":"out","state":"staged","damage":"changed")"),
              HasSubstr("from the agent, damaged since"));
  EXPECT_THAT(shown(R"("direction":"out","state":"expired")"), HasSubstr("expired"));
}

TEST(UploadStats, AreShownByWorkspaceAndTogetherAsFarAsTheyAreKnown) {
  const auto shown = format_upload_stats(json(R"({"workspaces":[{"workspace_id":"w1","workspace_name":"Laptop",
      "never_fetched":{"files":2,"bytes":2048},"fetched":{"files":0,"bytes":0},"acked":{}}],
      "total":{"never_fetched":{"files":2,"bytes":2048}}})"),
                                         Colours::off);
  EXPECT_EQ(shown,
            "FOR           NEVER FETCHED  FETCHED, NOT ACKED  ACKED  FAILED  EXPIRED  DAMAGED\n"
            "Laptop        2 (2.0 KiB)    -                   -      -       -        -\n"
            "all together  2 (2.0 KiB)    -                   -      -       -        -\n");
  for (const char* none : {"{}", R"({"workspaces":7})"}) {
    EXPECT_EQ(format_upload_stats(json(none), Colours::off),
              "FOR  NEVER FETCHED  FETCHED, NOT ACKED  ACKED  FAILED  EXPIRED  DAMAGED\n");
  }
}

TEST(Uploads, ShowWhichAreDamagedAndHowMany) {
  const auto shown = [](std::string_view facts) {
    return format_uploads(json(R"({"uploads":[{"name":"a",)" + std::string(facts) + "}]}"), kNow, Colours::off);
  };
  EXPECT_THAT(shown(R"("state":"acked","damage":"changed")"), HasSubstr("delivered, damaged since"));
  EXPECT_THAT(shown(R"("state":"failed","reason":"it was damaged","damage":"changed")"),
              AllOf(HasSubstr("failed: it was damaged"), Not(HasSubstr("since"))));
  EXPECT_THAT(shown(R"("state":"acked","damage":null)"), Not(HasSubstr("damaged")));
  EXPECT_EQ(format_upload_stats(json(R"({"workspaces":[],"total":{"failed":{"files":2,"bytes":2048},
                                          "damaged":{"files":1,"bytes":1024}}})"),
                                Colours::off),
            "FOR           NEVER FETCHED  FETCHED, NOT ACKED  ACKED  FAILED       EXPIRED  DAMAGED\n"
            "all together  -              -                   -      2 (2.0 KiB)  -        1 (1.0 KiB)\n");
}

TEST(Sweep, ShowsWhatWasRemovedOrThatNothingWasDue) {
  for (const char* nothing : {R"({"acked":0,"expired":0,"orphans":0})", R"({"acked":"two"})", "{}"}) {
    EXPECT_EQ(format_sweep(json(nothing)), "Nothing was due.\n") << nothing;
  }
  for (const char* all : {"", R"(,"clock_jumped":false)", R"(,"clock_jumped":"no")"}) {
    EXPECT_EQ(format_sweep(json(R"({"acked":2,"expired":1,"orphans":3)" + std::string(all) + "}")),
              "Removed 2 acknowledged and 1 expired files, and the content of 3 uploads that never finished.\n");
  }
}

TEST(Sweep, ShowsThatTheClockMadeItWait) {
  EXPECT_THAT(format_accepted_clock(json(R"({"now":"2026-11-15T12:00:00.000000Z","was":"it was set"})")),
              HasSubstr("Accepted: it is 2026-11-15T12:00:00.000000Z"));
  EXPECT_THAT(format_accepted_clock(json(R"({"now":"2026-11-15T12:00:00.000000Z","was":null})")),
              HasSubstr("not in doubt"));
  EXPECT_EQ(format_sweep(json(R"({"acked":0,"expired":0,"orphans":0,"clock_jumped":true})")),
            "The clock was set: files are deleted by age again once it has been stable for a while.\n");
  EXPECT_THAT(format_sweep(json(R"({"acked":0,"expired":0,"orphans":3,"clock_jumped":true})")),
              AllOf(HasSubstr("the content of 3 uploads"), HasSubstr("\nThe clock was set")));
}

}  // namespace
}  // namespace restante::cli
