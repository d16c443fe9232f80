// What a lane does when the answer to a COMMIT is lost or is not the expected one. A trigger that runs at the COMMIT
// causes it inside PostgreSQL.
#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <thread>

#include "postgres_server.h"
#include "store/postgres/lanes/write_lane.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;
using postgres::Connection;
using postgres::Transaction;
using postgres::WriteLane;
using ::testing::HasSubstr;

constexpr auto kCeiling = 2min;

template <class Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const std::exception& failed) {
    return failed.what();
  }
  return "";
}

class PostgresCommit : public ::testing::Test {
 protected:
  PostgresCommit() { outside.query("CREATE TABLE numbers (n bigint PRIMARY KEY)"); }

  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions made;
    made.url = database.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = kCeiling;
    return made;
  }
  std::unique_ptr<WriteLane> start(const postgres::ConnectionOptions& to, WriteLane::Limits limits = {}) {
    // Long limits: a busy machine is slow and must not fail a test.
    limits.patience = limits.settling = kCeiling;
    return std::make_unique<WriteLane>(to, Uuid::make(SystemClock().now()), limits, read_cache, primary, nullptr);
  }
  // A short answer timeout, which notices a COMMIT that hangs; all other timeouts are long.
  postgres::ConnectionOptions hasty() const {
    auto made = endpoint();
    made.answer_timeout = 8s;
    made.statement_timeout = 5s;
    return made;
  }
  // These statements run while a transaction that inserted a number is being committed.
  void at_commit(const std::string& statements) {
    outside.execute("CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + statements +
                    " RETURN NULL; END $$");
    outside.execute(
        "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION at_commit()");
  }
  static Result<void> insert(Transaction& transaction) {
    // The server itself must not end a COMMIT that hangs.
    transaction.run("SET LOCAL statement_timeout = 0");
    transaction.run("SET LOCAL lock_timeout = 0");
    transaction.run("INSERT INTO numbers (n) VALUES (1)");
    return {};
  }
  std::int64_t count(const std::string& of) { return outside.query("SELECT count(*) FROM " + of).front().integer(0); }
  void wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kCeiling;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(1ms);
    }
  }
  // A session waits for a lock in this database.
  bool has_lock_wait() {
    return count(
               "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> "
               "pg_backend_pid()") > 0;
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  Connection outside{endpoint()};
  postgres::ReadCache read_cache;
  postgres::Primary primary{[] {}};
};

TEST_F(PostgresCommit, AVerbThatIgnoredAFailureIsNotAnsweredAsCommitted) {
  auto lane = start(endpoint());
  auto verb = lane->submit({}, 0, [](Transaction& transaction) -> Result<void> {
    transaction.changed();
    EXPECT_THROW(transaction.connection().query("SELECT nonsense"), Unavailable);
    return {};
  });
  EXPECT_THAT(failure_of([&] { verb.take(); }), HasSubstr("rolled back instead of committing"));
  EXPECT_TRUE(lane->submit({}, 0, insert).take()) << "the lane continues";
}

TEST_F(PostgresCommit, ACommitWhoseSessionTheServerEndedIsTriedAgainOnce) {
  outside.query("CREATE SEQUENCE turns");
  at_commit("IF nextval('turns') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;");
  auto lane = start(endpoint());
  EXPECT_TRUE(lane->submit({}, 0, insert).take());
  EXPECT_EQ(count("numbers"), 1);
  EXPECT_EQ(outside.query("SELECT last_value FROM turns").front().integer(0), 2);
}

TEST_F(PostgresCommit, AMarkThatIsDeletedDuringTheCommitMeansNotCommitted) {
  outside.query("CREATE SEQUENCE turns");
  outside.query("SELECT pg_advisory_lock(1)");
  at_commit(
      "IF nextval('turns') = 1 THEN PERFORM pg_advisory_xact_lock(1); PERFORM "
      "pg_terminate_backend(pg_backend_pid()); END IF;");
  auto lane = start(endpoint());
  auto verb = lane->submit({}, 0, insert);
  wait_until([&] { return has_lock_wait(); });
  // The DELETE waits for the transaction that has locked the mark, and gets the lock before any later session.
  std::thread deleter([&] { Connection(endpoint()).query("DELETE FROM commit_marks"); });
  wait_until([&] {
    return count(
               "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE "
               "'DELETE FROM commit_marks%'") == 1;
  });
  outside.query("SELECT pg_advisory_unlock(1)");
  EXPECT_TRUE(verb.take());
  deleter.join();
  EXPECT_EQ(count("numbers"), 1);
}

TEST_F(PostgresCommit, AHangingCommitIsEndedBeforeTheCallerIsAnswered) {
  outside.query("SELECT pg_advisory_lock(1)");
  at_commit("PERFORM pg_advisory_xact_lock(1);");
  auto lane = start(hasty());
  EXPECT_THAT(failure_of([&] { lane->submit({}, 0, insert).take(); }), HasSubstr("no answer in time"));
  EXPECT_FALSE(has_lock_wait()) << "its session has been ended";
  outside.query("SELECT pg_advisory_unlock(1)");
  EXPECT_EQ(count("numbers"), 0) << "a change that was answered with a failure is not there";
}

TEST_F(PostgresCommit, AHangingCommitThatCannotBeEndedIsWaitedFor) {
  outside.query("CREATE SEQUENCE tries");
  outside.execute(
      "CREATE FUNCTION pg_terminate_backend(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM "
      "nextval('tries'); RAISE 'not now'; END $$");
  const auto name = outside.query("SELECT current_database()").front().text(0);
  outside.query("ALTER DATABASE " + name + " SET search_path = public, pg_catalog");
  outside.query("SELECT pg_advisory_lock(1)");
  at_commit("PERFORM pg_advisory_xact_lock(1);");
  auto lane = start(hasty());
  auto verb = lane->submit({}, 0, insert);
  wait_until([&] { return outside.query("SELECT is_called FROM tries").front().boolean(0); });
  outside.query("SELECT pg_advisory_unlock(1)");
  EXPECT_TRUE(verb.take()) << "it was committed after all";
  EXPECT_EQ(count("numbers"), 1);
}

TEST_F(PostgresCommit, WhatAVerbHoldsEndsWithItsAnswerAndNotWithTheNextWrite) {
  auto lane = start(endpoint());
  std::promise<void> ended;
  std::shared_ptr<void> held(nullptr, [&ended](void*) { ended.set_value(); });
  lane->submit({}, 0, [held = std::move(held)](Transaction&) -> Result<void> { return {}; });
  EXPECT_EQ(ended.get_future().wait_for(kCeiling), std::future_status::ready);
}

TEST_F(PostgresCommit, ACommitWhoseOutcomeStaysUnknownIsAnsweredSo) {
  outside.execute(
      "CREATE FUNCTION pg_terminate_backend(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$");
  const auto name = outside.query("SELECT current_database()").front().text(0);
  outside.query("ALTER DATABASE " + name + " SET search_path = public, pg_catalog");
  outside.query("SELECT pg_advisory_lock(1)");
  at_commit("PERFORM pg_advisory_xact_lock(1);");
  WriteLane::Limits limits;
  limits.settling = 0ms;
  auto lane = start(hasty(), limits);
  EXPECT_THROW(lane->submit({}, 0, insert).take(), OutcomeUnknown);
  outside.query("SELECT pg_advisory_unlock(1)");
  wait_until([&] { return count("numbers") == 1; });
}

TEST_F(PostgresCommit, AVerbWhoseSessionEndsBeforeItsRollbackFailsAloneAndTheLaneContinues) {
  auto lane = start(endpoint());
  auto verb = lane->submit({}, 0, [&](Transaction& transaction) -> Result<void> {
    const auto self = transaction.connection().query("SELECT pg_backend_pid()::bigint").front().integer(0);
    outside.query("SELECT pg_terminate_backend($1::bigint::int)", self);
    throw std::runtime_error("no");
  });
  EXPECT_EQ(failure_of([&] { verb.take(); }), "no");
  EXPECT_TRUE(lane->submit({}, 0, insert).take());
}

TEST_F(PostgresCommit, AGroupIsNeverLargerThanItsLimitAndARefusedRowFailsAlone) {
  outside.query("ALTER TABLE numbers ADD CHECK (n < 1000)");
  WriteLane::Limits limits;
  limits.group_verbs = 2;
  auto lane = start(endpoint(), limits);
  std::promise<void> open;
  std::promise<void> begun;
  auto gate = lane->submit({}, 0, [&](Transaction&) -> Result<void> {
    begun.set_value();
    open.get_future().wait();
    return {};
  });
  begun.get_future().wait();
  const auto add = [&](std::int64_t n) {
    return lane->submit({}, 0, [this, n](Transaction& transaction) -> Result<std::int64_t> {
      transaction.run("INSERT INTO numbers (n) VALUES ($1)", n);
      return count("numbers");
    });
  };
  auto one = add(1);
  auto refused = add(1000);
  auto three = add(3);
  open.set_value();
  EXPECT_TRUE(gate.take());
  EXPECT_TRUE(one.take());
  EXPECT_THROW(refused.take(), postgres::ConstraintFailed);
  EXPECT_EQ(three.take().value(), 1) << "it ran in the next group";
}

TEST_F(PostgresCommit, AVerbSubmittedWhileTheLaneClosesIsRefused) {
  WriteLane::Limits limits;
  limits.queued_verbs = 1;
  auto lane = start(endpoint(), limits);
  std::promise<void> begun;
  auto verb = lane->submit({}, 0, [&, same = lane.get()](Transaction&) -> Result<void> {
    same->submit({}, 0, insert);
    begun.set_value();
    // Before that it is refused because the queue is full.
    wait_until(
        [&] { return failure_of([&] { same->submit({}, 0, insert).take(); }).find("closing") != std::string::npos; });
    return {};
  });
  begun.get_future().wait();
  lane.reset();
  EXPECT_TRUE(verb.take());
  EXPECT_EQ(count("numbers"), 1) << "an accepted verb is committed";
}

}  // namespace
}  // namespace restante::testing
