#include "store/postgres/lanes/write_lane.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>

#include "model/errors.h"
#include "postgres_server.h"
#include "store/postgres/connections/session_pool.h"

namespace restante::testing {
namespace {

using postgres::Connection;
using postgres::Transaction;
using postgres::WriteLane;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kLong = std::chrono::minutes(2);

postgres::ConnectionOptions patient(const std::string& url) {
  postgres::ConnectionOptions endpoint;
  endpoint.url = url;
  endpoint.connect_timeout = endpoint.statement_timeout = endpoint.answer_timeout = kLong;
  return endpoint;
}

// Long limits: a busy machine is slow and must not fail a test.
WriteLane::Limits patient(WriteLane::Limits limits = {}) {
  limits.patience = limits.settling = kLong;
  return limits;
}

template <class Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const std::exception& failed) {
    return failed.what();
  }
  return "";
}

// A lane on a table of numbers.
class WriteLaneTest : public ::testing::Test {
 protected:
  WriteLaneTest() {
    outside.query("CREATE TABLE numbers (n bigint PRIMARY KEY CHECK (n < 1000))");
    start({});
  }

  void start(WriteLane::Limits limits, postgres::ConnectionOptions endpoint) {
    lane.reset();
    lane = std::make_unique<WriteLane>(std::move(endpoint), Uuid::make(SystemClock().now()), limits, read_cache,
                                       primary, nullptr);
  }
  void start(WriteLane::Limits limits) { start(patient(limits), patient(database.url())); }

  // Keeps the lane busy until the gate opens, so that the next verbs wait together.
  std::promise<void> close_gate() {
    std::promise<void> open;
    auto reached = std::make_shared<std::promise<void>>();
    auto at_gate = reached->get_future();
    lane->submit({}, 0, [opened = open.get_future().share(), reached](Transaction&) -> Result<void> {
      reached->set_value();
      opened.wait();
      return {};
    });
    at_gate.wait();
    return open;
  }

  auto insert(std::int64_t n, std::size_t bytes = 8) {
    return lane->submit({}, bytes, [n](Transaction& transaction) -> Result<std::int64_t> {
      transaction.run("INSERT INTO numbers (n) VALUES ($1)", n);
      return n;
    });
  }

  std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> all;
    for (const auto row : outside.query("SELECT n FROM numbers ORDER BY n")) all.push_back(row.integer(0));
    return all;
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  Connection outside{patient(database.url())};
  postgres::ReadCache read_cache;
  postgres::Primary primary{[] {}};
  std::unique_ptr<WriteLane> lane;
};

TEST_F(WriteLaneTest, WaitingVerbsAreCommittedTogetherAndAnsweredAfterwards) {
  auto gate = close_gate();
  std::vector<Commit<Result<std::int64_t>>> commits;
  for (int n = 1; n <= 10; ++n) commits.push_back(insert(n));
  auto last = lane->submit({}, 0, [this](Transaction& transaction) -> Result<std::pair<std::int64_t, std::size_t>> {
    const auto inside = transaction.connection().query("SELECT count(*) FROM numbers");
    return std::pair(inside.front().integer(0), numbers().size());
  });
  gate.set_value();
  const auto [inside, outside_count] = last.take().value();
  EXPECT_EQ(inside, 10);
  EXPECT_EQ(outside_count, 0u) << "nothing of the group is visible before its one commit";
  for (auto& commit : commits) EXPECT_TRUE(commit.take());
  EXPECT_EQ(numbers().size(), 10u);
}

TEST_F(WriteLaneTest, AVerbThatViolatesAConstraintFailsAlone) {
  auto gate = close_gate();
  auto first = insert(1);
  auto twice = insert(1);
  auto second = insert(2);
  auto too_big = insert(1000);
  auto third = insert(3);
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_THROW(twice.take(), postgres::KeyTaken);
  EXPECT_TRUE(second.take());
  EXPECT_THROW(too_big.take(), postgres::ConstraintFailed);
  EXPECT_TRUE(third.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
}

TEST_F(WriteLaneTest, AVerbThatThrowsOrRefusesAfterItWroteIsUndoneAlone) {
  auto gate = close_gate();
  auto first = insert(1);
  auto thrower = lane->submit({}, 0, [](Transaction& transaction) -> Result<void> {
    transaction.run("INSERT INTO numbers (n) VALUES (2)");
    throw std::runtime_error("no");
  });
  auto refuser = lane->submit({}, 0, [](Transaction& transaction) -> Result<void> {
    transaction.run("INSERT INTO numbers (n) VALUES (3)");
    return errors::workspace_not_found;
  });
  auto harmless = lane->submit({}, 0, [](Transaction&) -> Result<void> { return errors::workspace_not_found; });
  auto last = insert(4);
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_THROW(thrower.take(), std::runtime_error);
  EXPECT_FALSE(refuser.take());
  EXPECT_FALSE(harmless.take());
  EXPECT_TRUE(last.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 4));
}

TEST_F(WriteLaneTest, AKeyThatIsTakenForAMomentIsTriedAgain) {
  outside.query("INSERT INTO numbers (n) VALUES (7)");
  int attempts = 0;
  auto commit = lane->submit({}, 0, [&](Transaction& transaction) -> Result<std::int64_t> {
    if (++attempts == 2) outside.query("DELETE FROM numbers");
    return transaction.change("INSERT INTO numbers (n) VALUES (7)");
  });
  EXPECT_EQ(commit.take().value(), 1);
  EXPECT_EQ(attempts, 2);
}

TEST_F(WriteLaneTest, AVerbThatAlwaysConflictsFailsAndNoOtherDoes) {
  int attempts = 0;
  auto conflicting = lane->submit({}, 0, [&](Transaction& transaction) -> Result<void> {
    ++attempts;
    transaction.connection().query("DO $$ BEGIN RAISE serialization_failure; END $$");
    return {};
  });
  auto other = insert(1);
  EXPECT_THROW(conflicting.take(), postgres::Conflict);
  EXPECT_GE(attempts, 4);
  EXPECT_TRUE(other.take());
}

TEST_F(WriteLaneTest, AConflictInAGroupFailsNoOtherVerb) {
  auto gate = close_gate();
  int attempts = 0;
  auto first = insert(1);
  auto once = lane->submit({}, 0, [&](Transaction& transaction) -> Result<void> {
    transaction.run("INSERT INTO numbers (n) VALUES (2)");
    if (++attempts == 1) transaction.connection().query("DO $$ BEGIN RAISE deadlock_detected; END $$");
    return {};
  });
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(once.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(WriteLaneTest, AVerbThatDoesNotFitIsRefusedAtOnce) {
  WriteLane::Limits limits;
  limits.queued_verbs = 2;
  limits.queued_bytes = 100;
  start(limits);
  auto gate = close_gate();
  auto large = insert(1, 1'000'000);
  EXPECT_THAT(failure_of([&] { insert(2, 1).take(); }), HasSubstr("too many writes")) << "by bytes";
  gate.set_value();
  EXPECT_TRUE(large.take()) << "one alone always fits";
  auto second_gate = close_gate();
  auto three = insert(3);
  auto four = insert(4);
  EXPECT_THAT(failure_of([&] { insert(5).take(); }), HasSubstr("too many writes")) << "by number";
  second_gate.set_value();
  EXPECT_TRUE(three.take() && four.take());
}

TEST_F(WriteLaneTest, AcceptedVerbsAreCommittedBeforeTheLaneEnds) {
  auto gate = close_gate();
  auto one = insert(1);
  auto two = insert(2);
  std::thread opener([&] { gate.set_value(); });
  lane.reset();
  opener.join();
  EXPECT_TRUE(one.take() && two.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(WriteLaneTest, AVerbThatAsksForItGetsItsOwnTransaction) {
  auto gate = close_gate();
  auto one = insert(1);
  auto alone =
      lane->submit({.alone = true}, 0, [this](Transaction&) -> Result<std::size_t> { return numbers().size(); });
  auto two = insert(2);
  gate.set_value();
  EXPECT_EQ(alone.take().value(), 1u) << "verbs before it are committed, verbs after it have not begun";
  EXPECT_TRUE(one.take() && two.take());
}

TEST_F(WriteLaneTest, AnEndedSessionIsReplaced) {
  EXPECT_TRUE(insert(1).take());
  outside.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  EXPECT_TRUE(insert(2).take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(WriteLaneTest, ASessionThatEndsDuringAVerbLosesNothing) {
  int attempts = 0;
  auto commit = lane->submit({}, 0, [&](Transaction& transaction) -> Result<void> {
    transaction.run("INSERT INTO numbers (n) VALUES (1)");
    if (++attempts == 1) transaction.connection().query("SELECT pg_terminate_backend(pg_backend_pid())");
    return {};
  });
  EXPECT_TRUE(commit.take());
  EXPECT_EQ(attempts, 2);
  EXPECT_THAT(numbers(), ElementsAre(1));
}

TEST_F(WriteLaneTest, ADeletedMarkIsInsertedAgain) {
  EXPECT_TRUE(insert(1).take());
  outside.query("DELETE FROM commit_marks");
  EXPECT_TRUE(insert(2).take());
  EXPECT_EQ(outside.query("SELECT count(*) FROM commit_marks").front().integer(0), 1);
}

TEST_F(WriteLaneTest, AMissingTableFailsVerbsUntilItIsBack) {
  outside.query("ALTER TABLE commit_marks RENAME TO hidden_marks");
  EXPECT_THROW(insert(1).take(), Unavailable);
  start({});
  EXPECT_THROW(insert(1).take(), Unavailable) << "also on a new session";
  outside.query("ALTER TABLE hidden_marks RENAME TO commit_marks");
  EXPECT_TRUE(insert(1).take());
}

TEST_F(WriteLaneTest, AStatementThatTakesTooLongFailsAndTheLaneContinues) {
  auto endpoint = patient(database.url());
  endpoint.statement_timeout = std::chrono::seconds(5);
  start(patient(), endpoint);
  auto slow = lane->submit({}, 0, [](Transaction& transaction) -> Result<void> {
    transaction.connection().query("SELECT pg_sleep(120)");
    return {};
  });
  EXPECT_THAT(failure_of([&] { slow.take(); }), HasSubstr("57014"));
  EXPECT_TRUE(insert(1).take());
}

TEST_F(WriteLaneTest, AServerThatDoesNotAnswerIsGivenUpAndTheLaneContinues) {
  auto endpoint = patient(database.url());
  endpoint.answer_timeout = std::chrono::seconds(8);
  start(patient(), endpoint);
  auto slow = lane->submit({}, 0, [](Transaction& transaction) -> Result<void> {
    transaction.connection().query("SELECT pg_sleep(120)");
    return {};
  });
  EXPECT_THAT(failure_of([&] { slow.take(); }), HasSubstr("no answer in time"));
  outside.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND datname = "
      "current_database() AND pid <> pg_backend_pid()");
  EXPECT_TRUE(insert(1).take());
}

TEST_F(WriteLaneTest, VerbsThatAreRepeatedSinglyDoNotWaitOneAfterTheOtherForALostServer) {
  PostgresDatabase other;
  Connection admin(patient(other.url()));
  const auto name = outside.query("SELECT current_database()").front().text(0);
  std::atomic<int> tries = 0;
  auto endpoint = patient(database.url());
  endpoint.on_no_session = [&] { ++tries; };
  auto limits = patient();
  limits.patience = std::chrono::milliseconds(0);  // one try
  start(limits, endpoint);
  auto gate = close_gate();
  auto thrower = lane->submit({}, 0, [&, runs = 0](Transaction& transaction) mutable -> Result<void> {
    transaction.changed();
    if (++runs == 1) throw std::runtime_error("so the group is repeated singly");
    admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
    transaction.connection().query("SELECT pg_terminate_backend(pg_backend_pid())");
    return {};
  });
  std::vector<Commit<Result<std::int64_t>>> others;
  for (int n = 1; n <= 5; ++n) others.push_back(insert(n));
  gate.set_value();
  EXPECT_THROW(thrower.take(), postgres::Lost);
  for (auto& one : others) EXPECT_THROW(one.take(), postgres::Lost);
  EXPECT_EQ(tries, 0) << "none of them tried to connect";
  admin.query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true");
  EXPECT_TRUE(insert(6).take()) << "the lane continues";
}

TEST_F(WriteLaneTest, AWaitForALostServerEndsWithTheShutdown) {
  ShutdownDeadline shutdown_deadline;
  std::promise<void> tried;
  auto endpoint = patient("postgres://nobody@127.0.0.1:1/nothing");
  endpoint.shutdown_deadline = &shutdown_deadline;
  endpoint.on_no_session = [&, tries = 0]() mutable {
    if (++tries == 2) tried.set_value();
  };
  auto limits = patient();
  limits.patience = std::chrono::hours(24);
  start(limits, endpoint);
  auto verb = insert(1);
  tried.get_future().wait();
  shutdown_deadline.end_within(std::chrono::milliseconds(0));
  EXPECT_THROW(verb.take(), Unavailable);
  lane.reset();
}

TEST_F(WriteLaneTest, AMissingDatabaseIsReportedInOneLine) {
  WriteLane::Limits limits;
  limits.patience = std::chrono::milliseconds(100);
  start(limits, patient("postgres://nobody@127.0.0.1:1/nothing"));
  const std::string failure = failure_of([&] { insert(1).take(); });
  EXPECT_THAT(failure, HasSubstr("Connection refused"));
  EXPECT_EQ(failure.find_first_of("\n\t"), std::string::npos) << failure;
}

// -- sessions

TEST_F(WriteLaneTest, AfterAFailureTheRestOfTheQueueHasNotRun) {
  outside.send("INSERT INTO numbers (n) VALUES (1)");
  outside.send("INSERT INTO no_such_table (n) VALUES (1)");
  outside.send("INSERT INTO numbers (n) VALUES (2)");
  EXPECT_THROW(outside.sync(), Unavailable);
  EXPECT_THAT(numbers(), IsEmpty()) << "a batch is one transaction";
  EXPECT_THROW(outside.query("INSERT INTO no_such_table (n) VALUES (1)"), Unavailable) << "prepared again";
  EXPECT_THROW(outside.execute("SELECT 1; SELECT nonsense FROM nowhere"), Unavailable);
  EXPECT_FALSE(outside.in_transaction());
  outside.query("BEGIN");
  outside.send("INSERT INTO no_such_table (n) VALUES (1)");
  outside.rollback();
  EXPECT_FALSE(outside.in_transaction());
}

TEST_F(WriteLaneTest, AColumnReadAsAnotherTypeIsALogicError) {
  const auto row = outside.query("SELECT 1::int, NULL::bigint, 'infinity'::timestamptz, '-infinity'::timestamptz");
  EXPECT_THROW(row.front().integer(0), std::logic_error);
  EXPECT_THROW(row.front().integer(1), std::logic_error);
  EXPECT_EQ(row.front().time(2), Time::max());
  EXPECT_EQ(row.front().time(3), Time::min());
  const auto back = outside.query("SELECT $1::timestamptz, $2::timestamptz", Time::max(), Time::min());
  EXPECT_EQ(back.front().time(0), Time::max());
  EXPECT_EQ(back.front().time(1), Time::min());
}

TEST_F(WriteLaneTest, ASessionHasItsOwnSettingsWhateverTheDatabasesDefaults) {
  const auto name = outside.query("SELECT current_database()").front().text(0);
  outside.query("ALTER DATABASE " + name + " SET default_transaction_isolation = 'serializable'");
  outside.query("ALTER DATABASE " + name + " SET synchronous_commit = 'off'");
  outside.query("ALTER DATABASE " + name + " SET timezone = 'Asia/Tokyo'");
  Connection fresh(patient(database.url()));
  const auto shown = fresh.query(
      "SELECT current_setting('transaction_isolation'), current_setting('synchronous_commit'), "
      "current_setting('TimeZone')");
  EXPECT_EQ(shown.front().view(0), "read committed");
  EXPECT_EQ(shown.front().view(1), "on");
  EXPECT_EQ(shown.front().view(2), "UTC");
}

// -- the pool

TEST_F(WriteLaneTest, AReadIsRepeatedOnAnotherSessionWhenItsOwnWasLost) {
  postgres::SessionPool pool(patient(database.url()), 2, kLong, primary, nullptr);
  int calls = 0;
  const auto answer = pool.use([&](Connection& connection) {
    if (++calls == 1) connection.query("SELECT pg_terminate_backend(pg_backend_pid())");
    return connection.query("SELECT 42::bigint").front().integer(0);
  });
  EXPECT_EQ(answer, 42);
  EXPECT_EQ(calls, 2);
}

TEST_F(WriteLaneTest, WhenEverySessionIsInUseAReadWaitsForALimitedTime) {
  postgres::SessionPool pool(patient(database.url()), 1, std::chrono::milliseconds(50), primary, nullptr);
  const std::string failure = pool.use(
      [&](Connection&) { return failure_of([&] { pool.use([](Connection& second) { return second.lost(); }); }); });
  EXPECT_THAT(failure, HasSubstr("too many reads"));
}

TEST_F(WriteLaneTest, AnUnreachableServerIsReportedAtOnceAndNotTriedByEveryRead) {
  postgres::SessionPool pool(patient("postgres://nobody@127.0.0.1:1/nothing"), 2, kLong, primary, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(failure_of([&] { pool.use([](Connection& one) { return one.lost(); }); }),
                HasSubstr("Connection refused"));
  }
}

TEST_F(WriteLaneTest, AReadThatIsNotAnsweredInTimeIsNotRepeated) {
  auto endpoint = patient(database.url());
  endpoint.answer_timeout = std::chrono::seconds(5);
  postgres::SessionPool pool(endpoint, 2, kLong, primary, nullptr);
  int calls = 0;
  EXPECT_THROW(pool.use([&](Connection& connection) {
    ++calls;
    return connection.query("SELECT pg_sleep(120)").size();
  }),
               postgres::Stalled);
  EXPECT_EQ(calls, 1);
  outside.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND datname = "
      "current_database() AND pid <> pg_backend_pid()");
}

}  // namespace
}  // namespace restante::testing
