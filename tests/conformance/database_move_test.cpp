// Both databases as a move uses them. The promises: no table is forgotten, every value arrives, and no server works on
// a database that is only half moved.
#include "store/move_database.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <set>

#include "backends.h"
#include "base/test_clock.h"
#include "base/test_folder.h"
#include "postgres_server.h"
#include "store/dir/blobs.h"
#include "store/move.h"
#include "store/owner.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/schema/opening.h"
#include "store/postgres/store.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

class NoProgress final : public MoveWatcher {
 public:
  void begin(MoveStep, std::int64_t, std::int64_t) override {}
  void add(std::int64_t) override {}
};

// Does something after everything is written and before it is compared.
class InterferingWatcher final : public MoveWatcher {
 public:
  explicit InterferingWatcher(std::function<void()> action) : action_(std::move(action)) {}
  void begin(MoveStep step, std::int64_t, std::int64_t) override {
    if (step == MoveStep::comparing) action_();
  }
  void add(std::int64_t) override {}

 private:
  const std::function<void()> action_;
};

class DatabaseMoves : public ::testing::Test {
 protected:
  DatabaseMoves() { fs::create_directories(directory / "old"); }

  fs::path old_file() { return directory / "old" / "restante.db"; }
  std::unique_ptr<MoveDatabase> old_database(MoveUse use = MoveUse::source) {
    return sqlite::open_move_database(old_file(), use, at(0));
  }
  std::unique_ptr<MoveDatabase> new_database(MoveUse use = MoveUse::target) {
    return postgres::open_move_database(database.url(), use);
  }

  // A little of everything that a store writes.
  void fill() {
    auto store = sqlite::open(old_file(), {.now = at(0)});
    const auto workspace = store->create_workspace({}, at(0)).take()->id;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(store->append_to_inbox(workspace, message("text \u2766", std::to_string(i)), at(i)).take());
    }
    ASSERT_TRUE(store->set_inbound_secret(workspace, std::string("\0\xff", 2), at(20)).take());
    auto staged = store->stage_uploads(workspace,
                                       {file("a"), small_file("b", "small"), small_file("c", std::string("\0\xff", 2))},
                                       until(at(1000)), at(21));
    ASSERT_TRUE(staged.take());
    // Blobs in the database itself, one of them unfinished, and a blob move with a worker.
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(store->chunks().append({"whole", i, std::string("\0\xff", 2)}, at(22)).take());
    }
    ASSERT_TRUE(store->chunks().finish({"whole", 10, ""}, at(22)).take());
    ASSERT_TRUE(store->chunks().append({"half", 0, "x"}, at(22)).take());
    ASSERT_TRUE(store->begin_blob_move(Place::dir, Place::inlined, 7, at(23)).take());
    ASSERT_TRUE(store->take_blob_move_lease(WorkerId::make(at(23)), at(33), at(23)).take().value());
  }

  void on_sqlite(const std::string& script) {
    sqlite::Health health;
    sqlite::Database(old_file().string(), sqlite::Database::Mode::read_write, health).execute(script);
  }
  std::unique_ptr<postgres::Connection> connect() {
    postgres::ConnectionOptions endpoint;
    endpoint.url = database.url();
    endpoint.connect_timeout = endpoint.answer_timeout = endpoint.statement_timeout = std::chrono::minutes(2);
    return std::make_unique<postgres::Connection>(endpoint);
  }

  std::unique_ptr<Store> old_store() { return sqlite::open(old_file(), {.now = at(0)}); }
  std::unique_ptr<Store> new_store() { return postgres::open(database.url(), patient_options()); }
  void move_there() {
    const auto from = old_database();
    const auto to = new_database();
    ASSERT_TRUE(move_database(*from, *to, no_progress).same());
  }
  // Why a server that starts on this database refuses the blob directory, which all of them share; empty: it does not.
  std::string refusal_reason_on(std::unique_ptr<Store> store) {
    std::string reason;
    with_owner_on(std::move(store), [&](Owner& owner) { reason = owner.refusal_reason(Place::dir); });
    return reason;
  }
  void with_owner_on(std::unique_ptr<Store> store, const std::function<void(Owner&)>& action) {
    ManualClock clock{at(1'000'000)};
    Log log{nowhere, LogLevel::error, clock};
    Metrics metrics{{"test", "test", "test"}};
    const auto files = dir::open(directory / "blobs", dir::TemporaryNames::unnamed_if_possible, clock);
    Owner owner(*store, {{Place::dir, *files}}, clock, log, metrics, OwnerRules());
    owner.ensure_installation();
    action(owner);
  }

  TestFolder directory;
  PostgresDatabase database;
  NoProgress no_progress;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
};

std::set<std::string> names_of(MoveDatabase& side) {
  std::set<std::string> names;
  for (const auto& table : side.tables()) names.insert(table.name);
  for (const auto& name : side.excluded_tables()) names.insert(name);
  return names;
}

TEST_F(DatabaseMoves, EveryTableIsMovedOrNamedAsExcluded) {
  sqlite::migrate_up(old_file(), at(0));
  postgres::migrate_up(database.url());
  std::set<std::string> ours, theirs;
  {
    sqlite::Health health;
    sqlite::Database file(old_file().string(), sqlite::Database::Mode::read_only, health);
    auto row = file.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    while (row.step()) ours.insert(row.text(0));
  }
  for (const auto row : connect()->query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")) {
    theirs.insert(row.text(0));
  }
  const auto from = old_database();
  const auto to = new_database();
  ours.insert(kMoveMarker);
  theirs.insert(kMoveMarker);
  EXPECT_EQ(names_of(*from), ours);
  EXPECT_EQ(names_of(*to), theirs);
  EXPECT_THAT(from->excluded_tables(), UnorderedElementsAre("schema_migrations", kMoveMarker, "delegation_counts",
                                                            "delegation_totals", "upload_totals"));
  EXPECT_THAT(to->excluded_tables(), UnorderedElementsAre("schema_migrations", kMoveMarker, "commit_marks",
                                                          "delegation_counts", "delegation_totals", "upload_totals"));
  EXPECT_NO_THROW(compare_databases(*from, *to, no_progress)) << "a table or a column is on one side only";
}

TEST_F(DatabaseMoves, ThereAndBackEveryValueIsTheSame) {
  fill();
  // Times that PostgreSQL cannot store, extreme numbers, and text that looks like another type.
  on_sqlite(
      "UPDATE workspaces SET last_heartbeat_at = 9223372036854775807, last_poll_at = -9223372036854775807 - 1, "
      "active_tasks = -9223372036854775807, last_error_rate = 1e-300, role = 'NULL', current_task = '{\"a\":1}', "
      "agent_card = '{\"b\" : 1,\"a\":[]}', usual_poll_gap = 9223372036854775807;");
  Moved there;
  {
    const auto from = old_database();
    const auto to = new_database();
    there = move_database(*from, *to, no_progress);
  }
  EXPECT_TRUE(there.same());
  EXPECT_GT(rows_of(there.from), 45);
  const auto from = new_database(MoveUse::source);
  const auto to = sqlite::open_move_database(directory / "new" / "restante.db", MoveUse::target, at(0));
  const Moved back = move_database(*from, *to, no_progress);
  EXPECT_TRUE(back.same());
  EXPECT_EQ(back.to, there.from);
  const auto again = old_database();
  EXPECT_TRUE(compare_databases(*again, *to, no_progress).same());
}

TEST_F(DatabaseMoves, TheSumsOfAllWorkspacesAreRightAfterAMove) {
  fill();
  move_there();
  const auto waiting = [](Store& store) { return store.upload_stats(at(30)).total.never_fetched; };
  EXPECT_EQ(waiting(*new_store()), (UploadTally{3, 5 + 5 + 2}));
  {
    const auto from = new_database(MoveUse::source);
    const auto to = sqlite::open_move_database(directory / "back" / "restante.db", MoveUse::target, at(0));
    ASSERT_TRUE(move_database(*from, *to, no_progress).same());
  }
  EXPECT_EQ(waiting(*sqlite::open(directory / "back" / "restante.db", {.now = at(0)})), (UploadTally{3, 5 + 5 + 2}));
}

TEST_F(DatabaseMoves, ATableThatIsAddedLaterMovesWithoutAChangeOfTheCode) {
  fill();
  on_sqlite(
      "CREATE TABLE later (key TEXT PRIMARY KEY, at INTEGER, flag INTEGER) STRICT; INSERT INTO later VALUES "
      "('one', 1, 1), ('two', NULL, 0);");
  postgres::migrate_up(database.url());
  connect()->execute("CREATE TABLE later (flag boolean, at timestamptz, key text PRIMARY KEY)");
  {
    const auto from = old_database();
    const auto to = new_database();
    EXPECT_TRUE(move_database(*from, *to, no_progress).same());
  }
  EXPECT_EQ(connect()->query("SELECT count(*) FROM later WHERE flag").front().integer(0), 1);
}

TEST_F(DatabaseMoves, ATableThatOnlyOneOfThemHasIsRefusedByName) {
  fill();
  on_sqlite("CREATE TABLE lonely (key TEXT PRIMARY KEY) STRICT");
  const auto from = old_database();
  const auto to = new_database();
  EXPECT_THAT([&] { move_database(*from, *to, no_progress); }, ThrowsMessage<OpenRefused>(HasSubstr("(lonely)")));
}

TEST_F(DatabaseMoves, SequencesContinueAfterTheHighestMovedNumber) {
  fill();
  {
    const auto from = old_database();
    const auto to = new_database();
    ASSERT_TRUE(move_database(*from, *to, no_progress).same());
  }
  auto store = postgres::open(database.url(), {});
  const auto workspace = store->list_workspaces().front().id;
  ASSERT_TRUE(store->stage_uploads(workspace, {file("d")}, until(at(1000)), at(21)).take());
  std::vector<std::string> names;
  for (const auto& upload : store->list_waiting(workspace, {}, 10, at(30))) names.push_back(upload.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(store->append_to_inbox(workspace, message("next"), at(31)).take()->seq, 25);
}

TEST_F(DatabaseMoves, AfterAMoveBothHaveTheMarksAndOnlyTheTargetHasTheInstallation) {
  const OwnerMark mark{InstallationId::make(at(1)), MarkId::make(at(1))};
  const Installation installation{mark.installation, Place::s3, {{Place::dir, mark}}};
  const auto fresh = InstallationId::make(at(2));
  ASSERT_TRUE(old_store()->ensure_installation(mark.installation, Place::s3).take());
  ASSERT_TRUE(old_store()->record_mark(Place::dir, std::nullopt, mark).take().value());
  // A server was started on the target; what it wrote is replaced.
  ASSERT_TRUE(new_store()->ensure_installation(fresh, Place::dir).take());
  ASSERT_TRUE(new_store()->record_mark(Place::s3, std::nullopt, {fresh, MarkId::make(at(2))}).take().value());
  move_there();
  EXPECT_TRUE(compare_databases(*old_database(), *new_database(MoveUse::read_only), no_progress).same());
  EXPECT_EQ(new_store()->find_installation(), installation);
  EXPECT_EQ(old_store()->find_installation(), std::nullopt);
  EXPECT_EQ(old_store()->ensure_installation(fresh, Place::dir).take().value(),
            (Installation{fresh, Place::dir, {{Place::dir, mark}}}));
  {
    const auto from = new_database(MoveUse::source);
    const auto to = sqlite::open_move_database(directory / "back" / "restante.db", MoveUse::target, at(0));
    ASSERT_TRUE(move_database(*from, *to, no_progress).same());
    EXPECT_TRUE(compare_databases(*from, *to, no_progress).same()) << "it can still be read";
  }
  EXPECT_EQ(new_store()->find_installation(), std::nullopt);
  EXPECT_EQ(sqlite::open(directory / "back" / "restante.db", {.now = at(0)})->find_installation(), installation);
}

TEST_F(DatabaseMoves, AfterAMoveOnlyTheNewDatabaseOwnsTheFiles) {
  ASSERT_EQ(refusal_reason_on(old_store()), "");
  move_there();
  EXPECT_THAT(refusal_reason_on(old_store()), HasSubstr("belongs to another installation")) << "before the new one";
  EXPECT_EQ(refusal_reason_on(new_store()), "");
  EXPECT_THAT(refusal_reason_on(old_store()), HasSubstr("restante blobs adopt --place dir --force"));
  EXPECT_EQ(refusal_reason_on(new_store()), "") << "this does not change";
}

TEST_F(DatabaseMoves, AMoveThatFailsAfterTheSourceLostTheInstallationsIdCanContinue) {
  ASSERT_EQ(refusal_reason_on(old_store()), "");
  InterferingWatcher watcher(
      [&] { connect()->execute(fmt::format("CREATE VIEW on_it AS SELECT * FROM {}", kMoveMarker)); });
  EXPECT_THROW(move_database(*old_database(), *new_database(), watcher), Unavailable);
  EXPECT_EQ(old_store()->find_installation(), std::nullopt);
  EXPECT_THAT([&] { new_store(); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT(refusal_reason_on(old_store()), HasSubstr("belongs to another installation"))
      << "a server that was started here gets another id, which does not stay";
  connect()->execute("DROP VIEW on_it");
  const Moved moved = move_database(*old_database(), *new_database(), no_progress);
  EXPECT_TRUE(moved.same());
  EXPECT_EQ(moved.resumed_at, rows_of(moved.from));
  EXPECT_EQ(old_store()->find_installation(), std::nullopt);
  EXPECT_EQ(refusal_reason_on(new_store()), "");
  EXPECT_THAT(refusal_reason_on(old_store()), HasSubstr("belongs to another installation"));
}

TEST_F(DatabaseMoves, ASourceThatAdoptedTheFilesAgainHasChanged) {
  ASSERT_EQ(refusal_reason_on(old_store()), "");
  InterferingWatcher watcher(
      [&] { connect()->execute(fmt::format("CREATE VIEW on_it AS SELECT * FROM {}", kMoveMarker)); });
  EXPECT_THROW(move_database(*old_database(), *new_database(), watcher), Unavailable);
  with_owner_on(old_store(), [](Owner& owner) { owner.adopt(Place::dir, Owner::Force::yes); });
  EXPECT_EQ(refusal_reason_on(old_store()), "");
  connect()->execute("DROP VIEW on_it");
  EXPECT_THAT([&] { move_database(*old_database(), *new_database(), no_progress); },
              ThrowsMessage<OpenRefused>(HasSubstr("has changed since")));
}

TEST_F(DatabaseMoves, ASourceThatCanOnlyBeReadIsRefusedBeforeAnythingIsMoved) {
  postgres::migrate_up(database.url());
  connect()->execute(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END "
      "$$");
  EXPECT_THAT([&] { new_database(MoveUse::source); }, ThrowsMessage<OpenRefused>(HasSubstr("can only be read")));
}

TEST_F(DatabaseMoves, SessionsThatAreSharedAreRefused) {
  const auto one = connect(), other = connect();
  EXPECT_NO_THROW(postgres::require_own_sessions(*one, *other));
  EXPECT_THAT([&] { postgres::require_own_sessions(*one, *one); },
              ThrowsMessage<OpenRefused>(HasSubstr("pool_mode = session")));
}

TEST_F(DatabaseMoves, NoServerAndNoOtherMoveOpensAHalfMovedDatabase) {
  {
    const auto half = new_database();
    half->prepare();
    half->begin("a move");
  }
  {
    const auto half = old_database(MoveUse::target);
    half->prepare();
    half->begin("a move");
  }
  EXPECT_THAT([&] { postgres::open(database.url(), {}); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { postgres::migrate_up(database.url()); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { postgres::migrate_down(database.url()); },
              ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { new_database(MoveUse::source); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { sqlite::open(old_file(), {.now = at(0)}); },
              ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { sqlite::migrate_down(old_file()); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_THAT([&] { old_database(MoveUse::source); }, ThrowsMessage<OpenRefused>(HasSubstr("has not finished")));
  EXPECT_EQ(state_of(*new_database(MoveUse::read_only)), TargetState::moving);
}

TEST_F(DatabaseMoves, ARowThatTheTargetRejectsIsReportedWithTheNameOfItsTable) {
  fill();
  on_sqlite("UPDATE workspaces SET role = CAST(x'ff' AS TEXT)");
  const auto from = old_database();
  const auto to = new_database();
  EXPECT_THAT([&] { move_database(*from, *to, no_progress); },
              ThrowsMessage<OpenRefused>(HasSubstr("a row of workspaces")));
  EXPECT_TRUE(to->marker()) << "no server starts on the rows that came before it";
}

TEST_F(DatabaseMoves, ATableThatCannotBeMovedIsALogicError) {
  postgres::migrate_up(database.url());
  connect()->execute("CREATE TABLE odd (key text PRIMARY KEY, value integer)");
  EXPECT_THAT([&] { new_database()->tables(); }, ThrowsMessage<std::logic_error>(HasSubstr("cannot be moved")));
  connect()->execute("ALTER TABLE odd DROP COLUMN value, DROP CONSTRAINT odd_pkey");
  EXPECT_THAT([&] { new_database()->tables(); }, ThrowsMessage<std::logic_error>(HasSubstr("odd has no key")));
  sqlite::migrate_up(old_file(), at(0));
  on_sqlite("CREATE TABLE odd (value NUMERIC)");
  EXPECT_THAT([&] { old_database()->tables(); }, ThrowsMessage<std::logic_error>(HasSubstr("cannot be moved")));
}

TEST_F(DatabaseMoves, ASourceOfAnOlderSchemaIsRefusedWithWhatToDo) {
  EXPECT_THAT([&] { new_database(MoveUse::source); }, ThrowsMessage<OpenRefused>(HasSubstr("migrate up")));
  postgres::migrate_up(database.url());
  EXPECT_NO_THROW(new_database(MoveUse::source));
  postgres::migrate_down(database.url());
  EXPECT_THAT([&] { new_database(MoveUse::source); }, ThrowsMessage<OpenRefused>(HasSubstr("migrate up")));
  EXPECT_THAT([&] { old_database(); }, ThrowsMessage<OpenRefused>(HasSubstr("there is no database")));
  sqlite::migrate_up(old_file(), at(0));
  sqlite::migrate_down(old_file());
  EXPECT_THAT([&] { old_database(); }, ThrowsMessage<OpenRefused>(HasSubstr("migrate up")));
}

TEST_F(DatabaseMoves, ASecondMoveIntoOneDatabaseIsRefused) {
  const auto first = new_database();
  EXPECT_THAT([&] { new_database(); }, ThrowsMessage<OpenRefused>(HasSubstr("another move")));
}

TEST_F(DatabaseMoves, ADatabaseThatIsOnlyLookedAtIsNotCreated) {
  const auto nothing = sqlite::open_move_database(directory / "none" / "restante.db", MoveUse::read_only, at(0));
  EXPECT_EQ(state_of(*nothing), TargetState::empty);
  EXPECT_FALSE(std::filesystem::exists(directory / "none"));
  EXPECT_TRUE(new_database(MoveUse::read_only)->tables().empty());
  EXPECT_EQ(connect()->query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").front().integer(0), 0);
}

}  // namespace
}  // namespace restante::testing
