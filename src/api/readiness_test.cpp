#include "api/readiness.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_clock.h"

namespace restante::api {
namespace {

using namespace std::chrono_literals;

struct ReadinessTest : testing::Test {
  // Performs what the edge would perform.
  static http::Response settle(http::Response response) {
    const auto later = std::get<std::shared_ptr<http::Later>>(response.content);
    bool done = false;
    later->when_done([&] { done = true; });
    EXPECT_TRUE(done);
    return later->answer();
  }
  static bool is_kept(const http::Response& response) { return std::holds_alternative<std::string>(response.content); }
  static std::string text(const http::Response& response) { return std::get<std::string>(response.content); }

  ManualClock clock{Time(std::chrono::hours(500'000))};
  int checks = 0;
  bool works = true;
  Readiness readiness{{"database", [this] {
                         ++checks;
                         if (!works) throw Unavailable("a reason");
                       }}};
};

TEST_F(ReadinessTest, AnAnswerIsKeptForSecondsWhoeverAsks) {
  const http::Response first = settle(readiness.answer(clock));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(text(first), R"({"checks":{"database":"ok"},"status":"ready"})");
  clock.advance(1999ms);
  for (int i = 0; i < 1000; ++i) {
    const http::Response again = readiness.answer(clock);
    ASSERT_TRUE(is_kept(again));
    EXPECT_EQ(text(again), text(first));
  }
  EXPECT_EQ(checks, 1);
  clock.advance(1ms);
  settle(readiness.answer(clock));
  EXPECT_EQ(checks, 2);
}

TEST_F(ReadinessTest, AFailureIsKeptForOneSecond) {
  works = false;
  const http::Response failed = settle(readiness.answer(clock));
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(text(failed), R"({"checks":{"database":"failed"},"status":"not_ready"})");
  EXPECT_EQ(failed.headers, (std::vector<http::Header>{{"Retry-After", "1"}}));
  works = true;
  clock.advance(999ms);
  EXPECT_EQ(readiness.answer(clock).status, 503);
  clock.advance(1ms);
  EXPECT_EQ(settle(readiness.answer(clock)).status, 200);
  EXPECT_EQ(checks, 2);
}

TEST_F(ReadinessTest, ADoubtIsShownAndTheServerIsReady) {
  const Readiness doubtful{{"database", [] {}}, {"clock", [] { throw Unavailable("it was set"); }, false, "doubted"}};
  const http::Response answer = settle(doubtful.answer(clock));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(text(answer), R"({"checks":{"database":"ok","clock":"doubted"},"status":"ready"})");
}

TEST_F(ReadinessTest, OneCheckRunsAtATimeAndTheOthersWaitForIt) {
  const http::Response first = readiness.answer(clock);
  const http::Response second = readiness.answer(clock);
  const auto waiting = std::get<std::shared_ptr<http::Later>>(second.content);
  EXPECT_EQ(waiting->may_block, http::MayBlock::no) << "it takes no thread";
  bool done = false;
  waiting->when_done([&] { done = true; });
  EXPECT_FALSE(done);
  EXPECT_EQ(settle(first).status, 200);
  EXPECT_TRUE(done);
  EXPECT_EQ(waiting->answer().status, 200);
  EXPECT_EQ(checks, 1);
}

TEST_F(ReadinessTest, ACheckWhoseClientIsGoneDoesNotBlockTheNext) {
  {
    const http::Response dropped = readiness.answer(clock);
  }
  std::shared_ptr<http::Later> waiting;
  {
    const http::Response dropped = readiness.answer(clock);
    waiting = std::get<std::shared_ptr<http::Later>>(readiness.answer(clock).content);
  }
  bool done = false;
  waiting->when_done([&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_THROW(waiting->answer(), Unavailable) << "it has no result";
  EXPECT_EQ(settle(readiness.answer(clock)).status, 200);
  EXPECT_EQ(checks, 1);
}

}  // namespace
}  // namespace restante::api
