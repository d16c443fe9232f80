#include "cli/blobs/blobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Json json(std::string_view text) { return parse_json(text).value(); }

TEST(Blobs, ARateIsAnAmountOfBytes) {
  EXPECT_EQ(parse_rate(""), 0);
  EXPECT_EQ(parse_rate("0"), 0);
  EXPECT_EQ(parse_rate("500000"), 500'000);
  EXPECT_EQ(parse_rate("10MB"), 10'000'000);
  EXPECT_EQ(parse_rate("10MB/s"), 10'000'000);
  EXPECT_EQ(parse_rate("1.5 MiB"), 1'572'864);
  EXPECT_EQ(parse_rate("64k"), 64'000);
  EXPECT_EQ(parse_rate("1GiB"), 1 << 30);
  for (const char* none : {"fast", "-1", "10 potatoes", "MB", "1e300", "nan", "0.5", "0.0001kb"})
    EXPECT_FALSE(parse_rate(none)) << none;
}

TEST(Blobs, WaitingShowsWhyAttemptsFailAndEndsWhenAllFail) {
  using std::chrono::seconds;
  const std::chrono::steady_clock::time_point start{};
  MoveStallDetector stall(seconds(60));
  const auto observe = [&](int at, int left, int failures, const std::string& reason) {
    const std::string move =
        fmt::format(R"({{"places":[],"migration":{{"phase":"both","left_files":{},"failures":{},"last_failure":{}}}}})",
                    left, failures, reason.empty() ? "null" : '"' + reason + '"');
    return stall.observe(json(move), start + seconds(at));
  };
  EXPECT_EQ(observe(0, 9, 0, ""), "");
  EXPECT_EQ(observe(600, 9, 0, ""), "");
  EXPECT_FALSE(stall.is_stalled()) << "slow is not stalled";
  EXPECT_EQ(observe(601, 8, 3, "no room"), "an attempt failed and is repeated: no room");
  EXPECT_EQ(observe(630, 8, 5, "no room"), "") << "once is enough";
  EXPECT_EQ(observe(640, 8, 6, "403 AccessDenied"), "an attempt failed and is repeated: 403 AccessDenied");
  EXPECT_FALSE(stall.is_stalled());
  EXPECT_EQ(observe(660, 7, 7, "403 AccessDenied"), "") << "there is progress all the same";
  EXPECT_EQ(observe(719, 7, 9, "403 AccessDenied"), "");
  EXPECT_FALSE(stall.is_stalled());
  EXPECT_EQ(observe(720, 7, 10, "403 AccessDenied"), "");
  EXPECT_TRUE(stall.is_stalled());
  EXPECT_THAT(stall.reason_to_stop(),
              AllOf(HasSubstr("for a minute every attempt"), HasSubstr("because: 403 AccessDenied")));
}

// The answers of a server when another server copies, or none.
class WaitingForAnotherServer : public ::testing::Test {
 protected:
  std::string observe(int at, int left, const std::string& copied_by, const std::string& rest = "", int twins = 0) {
    const std::string move =
        fmt::format(R"({{"places":[{{"bytes":6000,"second_copies":{}}}],)"
                    R"("migration":{{"phase":"both","left_files":{},"left_bytes":{},"copied_by":{}{}}}}})",
                    twins, left, left * 100, copied_by, rest);
    return stall.observe(json(move), start + std::chrono::seconds(at));
  }
  const std::chrono::steady_clock::time_point start{};
  MoveStallDetector stall{std::chrono::seconds(60)};
};

TEST_F(WaitingForAnotherServer, EndsAfterFiveMinutesWithoutProgress) {
  observe(0, 9, R"("another_server")");
  observe(299, 8, R"("another_server")");
  observe(598, 8, R"("another_server")", "", 3);
  EXPECT_FALSE(stall.is_stalled());
  observe(599, 8, R"("another_server")", "", 4);
  EXPECT_TRUE(stall.is_stalled()) << "new files go to both places, which is no progress";
  EXPECT_THAT(stall.reason_to_stop(), AllOf(HasSubstr("for 300 s nothing has moved; the server that was asked is not"),
                                            HasSubstr("logs of the other servers")));
  observe(600, 7, R"("another_server")");
  EXPECT_FALSE(stall.is_stalled());
}

TEST_F(WaitingForAnotherServer, EarlierFailuresOfTheRequestedServerDoNotCount) {
  observe(0, 9, R"("another_server")");
  observe(200, 9, R"("another_server")", R"(,"failures":7,"last_failure":"no room")");
  EXPECT_FALSE(stall.is_stalled());
}

TEST_F(WaitingForAnotherServer, WhenTheRequestedServerCopiesThereIsNoLimit) {
  observe(0, 9, R"("another_server")");
  observe(600, 9, R"("this_server")");
  EXPECT_FALSE(stall.is_stalled());
}

TEST_F(WaitingForAnotherServer, TheReasonWhyTheRequestedServerLeavesItToOthersIsPrinted) {
  const std::string reason = R"(,"held_up":"the disk is not mounted")";
  EXPECT_EQ(observe(0, 9, "null", reason), "left to other servers: the disk is not mounted");
  EXPECT_EQ(observe(300, 9, "null", reason), "") << "once is enough";
  EXPECT_THAT(stall.reason_to_stop(), HasSubstr("for 300 s nothing has moved: the disk is not mounted. Look into"));
}

TEST_F(WaitingForAnotherServer, ALowRateExtendsTheTime) {
  const std::string slow = R"(,"rate":52429)";  // a file of 25 MiB, read twice, in 1000 s
  observe(0, 9, R"("another_server")", slow);
  observe(1'298, 9, R"("another_server")", slow);
  EXPECT_FALSE(stall.is_stalled());
  observe(1'300, 9, R"("another_server")", slow);
  EXPECT_TRUE(stall.is_stalled());
}

TEST(Blobs, ShowEachPlaceAndTheProgressOfTheMove) {
  const std::string places =
      R"("setting":"dir","writes_to":"s3","also_to":"dir","places":[
        {"place":"dir","configured":true,"healthy":true,"error":null,"files":3,"bytes":3072,"damaged_files":1,
         "second_copies":4,"second_copies_bytes":4096},
        {"place":"inline","configured":false,"healthy":false,"error":null,"files":0,"bytes":0},
        {"place":"s3","configured":true,"healthy":false,"error":"403 InvalidAccessKeyId","files":4,"bytes":4096}],)";
  const std::string move = R"("migration":{"from":"dir","to":"s3","left_bytes":2048,"bytes_per_second":1024,)";
  const auto shown = [&](const std::string& rest) {
    return format_blobs(json("{" + places + move + rest + "}}"), Colours::off);
  };
  const std::string moving = shown(R"("phase":"both","left_files":2,"seconds_left":2,"failures":0)");
  EXPECT_THAT(moving,
              AllOf(HasSubstr("not set up"), HasSubstr("403 InvalidAccessKeyId"), HasSubstr("4 files (4.0 KiB)")));
  EXPECT_THAT(moving, HasSubstr("2 files (2.0 KiB) still to be copied, 1.0 KiB/s, about 2 s left."));
  EXPECT_THAT(moving, Not(HasSubstr("attempts failed")));
  EXPECT_THAT(moving, Not(HasSubstr("at most")));
  EXPECT_THAT(shown(R"("phase":"both","left_files":2,"rate":10240,"failures":0)"), HasSubstr("at most 10.0 KiB/s"));
  EXPECT_THAT(shown(R"("phase":"both","left_files":0,"failures":1,"last_failure":"no room")"),
              AllOf(HasSubstr("restante blobs finish"), HasSubstr("because: no room")));
  EXPECT_THAT(shown(R"("phase":"both","left_files":2,"failures":0,"copied_by":"another_server","held_up":null)"),
              HasSubstr("Another server has the work"));
  EXPECT_THAT(shown(R"("phase":"both","left_files":2,"failures":0,"copied_by":null,"held_up":"it is not mounted")"),
              HasSubstr("leaves it to others: it is not mounted"));
  EXPECT_THAT(shown(R"("phase":"finishing","left_files":0,"failures":0)"), HasSubstr("are being deleted"));
  EXPECT_THAT(shown(R"("phase":"finished","left_files":0,"failures":0)"),
              AllOf(HasSubstr("has finished"), HasSubstr("set it to \"s3\"")));
  EXPECT_THAT(format_blobs(json("{" + places + R"("migration":null})"), Colours::off), Not(HasSubstr("hang")));
}

}  // namespace
}  // namespace restante::cli
