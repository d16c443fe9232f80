#include "store/s3/request_reporter.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "base/test_clock.h"

namespace restante::s3 {
namespace {

using client::Failure;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class S3RequestReporter : public ::testing::Test {
 protected:
  ~S3RequestReporter() override { std::fclose(file); }

  void fail(std::string_view operation, const std::string& sentence, int status = 503) {
    Failure failure(Failure::Kind::status, sentence);
    failure.status = status;
    reporter.attempted({operation, &failure});
  }
  void fail(std::string_view operation, Failure::Kind kind) {
    const Failure failure(kind, "of a kind");
    reporter.attempted({operation, &failure});
  }
  void succeed(std::string_view operation) { reporter.attempted({operation}); }

  // Everything that was logged. Nothing can be logged afterwards.
  std::string log_text() {
    log.reset();
    std::string text(1 << 16, '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
  }
  static std::size_t count(const std::string& text, std::string_view word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }

  std::FILE* file = std::tmpfile();
  ManualClock clock{Time(std::chrono::hours(500'000))};
  std::optional<Log> log{std::in_place, fileno(file), LogLevel::debug, clock};
  Metrics metrics{{"test", "test", "test"}};
  RequestReporter reporter{clock, *log, metrics};
};

TEST_F(S3RequestReporter, TheSameReasonIsLoggedEveryTenSecondsWithTheNumberOfSuppressedLines) {
  for (int i = 0; i < 100; ++i) fail("put", "slow down");
  clock.advance(std::chrono::seconds(9));
  fail("put", "slow down");
  clock.advance(std::chrono::seconds(1));
  fail("put", "slow down");
  const auto text = log_text();
  EXPECT_EQ(count(text, "s3_failed"), 2u) << text;
  EXPECT_THAT(text, HasSubstr("\"unsaid\":100"));
}

TEST_F(S3RequestReporter, AnotherReasonIsLoggedSooner) {
  fail("put", "slow down");
  fail("put", "the clock is wrong", 403);
  clock.advance(std::chrono::seconds(1));
  fail("put", "the clock is wrong", 403);
  const auto text = log_text();
  EXPECT_EQ(count(text, "s3_failed"), 2u) << text;
  EXPECT_EQ(count(text, "the clock is wrong"), 1u) << text;
}

TEST_F(S3RequestReporter, TroubleEndsWhenTheSameOperationSucceedsAndThatIsLogged) {
  fail("put", "may not PUT", 403);
  fail("get", "slow down");
  succeed("check");
  EXPECT_EQ(reporter.trouble(), "slow down");
  succeed("get");
  EXPECT_EQ(reporter.trouble(), "may not PUT");
  succeed("put");
  EXPECT_THAT(reporter.trouble(), IsEmpty());
  EXPECT_EQ(count(log_text(), "s3_answers_again"), 1u);
}

TEST_F(S3RequestReporter, AFailureThatIsOldIsNoTroubleAnyMore) {
  fail("put", "slow down");
  clock.advance(std::chrono::minutes(14));
  EXPECT_EQ(reporter.trouble(), "slow down");
  clock.advance(std::chrono::minutes(1));
  EXPECT_THAT(reporter.trouble(), IsEmpty());
}

TEST_F(S3RequestReporter, AMissingObjectAndTheShutdownOfTheServerAreNoTrouble) {
  fail("head", "S3 answered 404", 404);
  fail("put", Failure::Kind::cancelled);
  EXPECT_THAT(reporter.trouble(), IsEmpty());
  EXPECT_EQ(metrics.s3_requests("head", "missing").Value(), 1);
  EXPECT_EQ(metrics.s3_requests("put", "stopped").Value(), 1);
  EXPECT_THAT(log_text(), Not(HasSubstr("s3_failed")));
}

TEST_F(S3RequestReporter, EveryAttemptIsCountedByItsOutcome) {
  fail("put", Failure::Kind::timeout);
  fail("put", Failure::Kind::cut);
  fail("put", Failure::Kind::protocol);
  fail("put", Failure::Kind::unreachable);
  fail("put", "slow down", 503);
  fail("put", "denied", 403);
  reporter.attempted({"put", nullptr, 1000, 0});
  reporter.attempted({"get", nullptr, 0, 500});
  for (const char* outcome : {"timeout", "cut", "not_s3", "unreachable", "unavailable", "refused", "ok"}) {
    EXPECT_EQ(metrics.s3_requests("put", outcome).Value(), 1) << outcome;
  }
  EXPECT_EQ(metrics.s3_bytes("sent").Value(), 1000);
  EXPECT_EQ(metrics.s3_bytes("received").Value(), 500);
}

}  // namespace
}  // namespace restante::s3
