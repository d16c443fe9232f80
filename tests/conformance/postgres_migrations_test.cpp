#include "store/postgres/schema/migrations.h"

#include <gmock/gmock.h>

#include <thread>

#include "backends.h"
#include "postgres_server.h"
#include "store/postgres/store.h"
#include "store/sqlite/schema/migrations.h"

namespace restante::testing {
namespace {

using postgres::Connection;
using postgres::Migrations;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class PostgresMigrations : public ::testing::Test {
 protected:
  std::unique_ptr<Connection> connect() {
    postgres::ConnectionOptions endpoint;
    endpoint.url = database.url();
    endpoint.connect_timeout = endpoint.answer_timeout = endpoint.statement_timeout = std::chrono::minutes(2);
    return std::make_unique<Connection>(endpoint);
  }
  bool has(const std::string& name) {
    return connection->query("SELECT to_regclass($1::text) IS NOT NULL", name).front().boolean(0);
  }

  PostgresDatabase database;
  std::unique_ptr<Connection> connection = connect();
};

const Migration kOne{1, "one", 1, "CREATE TABLE a (x bigint);", "DROP TABLE a;"};

TEST_F(PostgresMigrations, AFailedStepLeavesTheStepBeforeItAndIsTriedAgain) {
  const Migration bad{2, "two", 2, "CREATE TABLE b (x bigint); CREATE TABLE a (x bigint);", "DROP TABLE b;"};
  const Migration repaired{2, "two", 2, "CREATE TABLE b (x bigint);", "DROP TABLE b;"};
  const Migration with_bad[] = {kOne, bad};
  EXPECT_ANY_THROW(Migrations(*connection, with_bad).up());
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b")) << "the first half of the step is undone";
  const Migration with_repaired[] = {kOne, repaired};
  EXPECT_EQ(Migrations(*connection, with_repaired).missing()->version, 2);
  EXPECT_EQ(Migrations(*connection, with_repaired).up(), 1);
  EXPECT_TRUE(has("b"));
}

TEST_F(PostgresMigrations, AServerThatDiesDuringAStepLeavesTheStepBeforeItAndNoLock) {
  const Migration slow[] = {
      kOne,
      {2, "two", 2, "CREATE TABLE b (x bigint); SELECT pg_terminate_backend(pg_backend_pid());", "DROP TABLE b;"}};
  EXPECT_THROW(Migrations(*connection, slow).up(), Unavailable);
  connection = connect();
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b"));
  const Migration repaired[] = {kOne, {2, "two", 2, "CREATE TABLE b (x bigint);", "DROP TABLE b;"}};
  EXPECT_EQ(Migrations(*connection, repaired).up(), 1);
}

TEST_F(PostgresMigrations, ServersThatStartAtOnceMigrateOneAfterTheOtherAndEachStepOnce) {
  // A step that takes long enough for all of them to start.
  const Migration slow[] = {{1, "one", 1, "CREATE TABLE a (x bigint); SELECT pg_sleep(0.3);", "DROP TABLE a;"},
                            {2, "two", 1, "CREATE TABLE b (x bigint); SELECT pg_sleep(0.1);", "DROP TABLE b;"}};
  std::atomic<int> applied = 0;
  std::vector<std::thread> servers;
  for (int i = 0; i < 4; ++i) {
    servers.emplace_back([&] {
      const auto own = connect();
      applied += Migrations(*own, slow).up();
    });
  }
  for (auto& server : servers) server.join();
  EXPECT_EQ(applied, 2);
  EXPECT_FALSE(Migrations(*connection, slow).missing());
}

TEST_F(PostgresMigrations, AServerThatWaitsTooLongForTheLockIsRefused) {
  const Migration one[] = {kOne};
  const auto other = connect();
  // The lock that another server would hold.
  const Migration holds[] = {{1, "holds", 1, "SELECT pg_advisory_lock(1); SELECT pg_advisory_unlock(1);", "SELECT 1;"}};
  connection->query("SELECT pg_advisory_lock(1)");
  std::thread busy([&] { Migrations(*other, holds).up(); });
  const auto late = connect();
  while (
      connection->query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'")
          .empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT([&] { Migrations(*late, one, std::chrono::milliseconds(60)).up(); },
              ThrowsMessage<OpenRefused>(HasSubstr("for too long")));
  connection->query("SELECT pg_advisory_unlock(1)");
  busy.join();
  EXPECT_FALSE(has("a"));
}

TEST_F(PostgresMigrations, ALockThatCannotBeReleasedEndsWithItsSession) {
  const Migration one[] = {kOne};
  connection->execute(
      "CREATE SCHEMA ours; CREATE FUNCTION ours.pg_advisory_unlock(bigint) RETURNS boolean LANGUAGE plpgsql AS $$ "
      "BEGIN RAISE 'not now'; END $$");
  connection->query("SELECT set_config('search_path', 'public, ours, pg_catalog', false)");
  EXPECT_EQ(Migrations(*connection, one).up(), 1);
  connection = connect();
  EXPECT_TRUE(Migrations(*connection, one).down()) << "the next one gets the lock";
}

TEST_F(PostgresMigrations, WithoutAppliedMigrationsThereIsNothingToTakeBack) {
  const Migration one[] = {kOne};
  EXPECT_FALSE(Migrations(*connection, one).down());
  EXPECT_EQ(Migrations(*connection, {}).up(), 0) << "a binary without migrations";
  EXPECT_EQ(Migrations(*connection, one).up(), 1);
  EXPECT_TRUE(Migrations(*connection, one).down());
  EXPECT_FALSE(Migrations(*connection, one).down()) << "the table exists and is empty";
  EXPECT_NO_THROW(Migrations(*connection, {}).require_ours());
}

TEST_F(PostgresMigrations, AnOlderBinaryRunsOnANewerSchemaThatAllowsItAndOnNoOther) {
  const Migration old[] = {kOne};
  const Migration allowed[] = {kOne, {2, "two", 1, "CREATE TABLE b (x bigint);", "DROP TABLE b;"}};
  Migrations(*connection, allowed).up();
  Migrations older(*connection, old);
  EXPECT_NO_THROW(older.require_ours());
  EXPECT_EQ(older.up(), 0);
  const auto status = older.status();
  ASSERT_EQ(status.size(), 2u);
  EXPECT_EQ(status[1].name, "two");
  EXPECT_FALSE(status[1].known);
  EXPECT_THAT([&] { older.down(); }, ThrowsMessage<OpenRefused>(HasSubstr("newer binary")));
  EXPECT_TRUE(has("b"));

  const Migration forbidden[] = {
      allowed[0], allowed[1], {3, "three", 3, "DROP TABLE a;", "CREATE TABLE a (x bigint);"}};
  Migrations(*connection, forbidden).up();
  EXPECT_THAT([&] { older.up(); }, ThrowsMessage<OpenRefused>(HasSubstr("too new for this binary")));
  EXPECT_FALSE(has("a"));
}

TEST_F(PostgresMigrations, AMigrationThatWasChangedAfterItWasAppliedIsRefused) {
  const Migration before[] = {kOne};
  const Migration renamed[] = {{1, "uno", 1, kOne.up, kOne.down}};
  const Migration rewritten[] = {{1, "one", 1, "CREATE TABLE a (x bigint, y bigint);", kOne.down}};
  Migrations(*connection, before).up();
  EXPECT_THROW(Migrations(*connection, renamed).up(), OpenRefused);
  EXPECT_THROW(Migrations(*connection, rewritten).up(), OpenRefused);
  EXPECT_NO_THROW(Migrations(*connection, before).up());
}

TEST_F(PostgresMigrations, AForeignDatabaseIsLeftAsItIs) {
  connection->execute("CREATE TABLE customers (id bigint)");
  EXPECT_THROW(Migrations(*connection).up(), OpenRefused);
  EXPECT_FALSE(has("schema_migrations"));
}

TEST_F(PostgresMigrations, ADatabaseOfAnotherEncodingIsRefusedWithWhatToDo) {
  const std::string name = "latin_" + Uuid::make(SystemClock().now()).hex();
  connection->query("CREATE DATABASE " + name + " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const std::string url = database.url().substr(0, database.url().rfind('/') + 1) + name;
  EXPECT_THAT([&] { postgres::open(url, patient_options()); }, ThrowsMessage<OpenRefused>(HasSubstr("must be UTF8")));
  connection->query("DROP DATABASE " + name + " WITH (FORCE)");
}

TEST_F(PostgresMigrations, BothBackendsHaveTheSameStepsAndLetTheSameBinariesRunOnThem) {
  const auto ours = postgres::known_migrations();
  const auto theirs = sqlite::known_migrations();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].version, theirs[i].version);
    EXPECT_EQ(ours[i].name, theirs[i].name);
    EXPECT_EQ(ours[i].oldest_binary, theirs[i].oldest_binary) << ours[i].name;
  }
}

TEST_F(PostgresMigrations, RowsSurviveTheStepsThatDoNotConcernThem) {
  WorkspaceId workspace;
  {
    auto store = postgres::open(database.url(), patient_options());
    workspace = store->create_workspace({}, at(0)).take()->id;
    ASSERT_TRUE(store->append_to_inbox(workspace, message("kept"), at(0)).take());
  }
  Migrations migrations(*connection);
  ASSERT_TRUE(migrations.down());
  EXPECT_FALSE(migrations.status().back().applied_at);
  EXPECT_EQ(migrations.up(), 1);
  auto store = postgres::open(database.url(), patient_options());
  EXPECT_EQ(store->read_inbox(workspace, {})->front().summary, "kept");
}

}  // namespace
}  // namespace restante::testing
