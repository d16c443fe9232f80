#include "store/sqlite/schema/migrations.h"

#include <gmock/gmock.h>

#include <fstream>

#include "backends.h"
#include "base/test_folder.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

using sqlite::Database;
using sqlite::Migrations;

class SqliteMigrations : public ::testing::Test {
 protected:
  SqliteMigrations() {
    std::ofstream(file, std::ios::app).flush();
    database = std::make_unique<Database>(file, Database::Mode::read_write, health);
  }
  std::vector<std::string> schema() {
    std::vector<std::string> all;
    auto row = database->query("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name");
    while (row.step()) all.push_back(row.text(0) + " " + row.text(1) + " " + row.text(2) + " " + row.text(3));
    return all;
  }
  bool has(const std::string& name) {
    return database->query("SELECT 1 FROM sqlite_schema WHERE name = ?", name).step();
  }

  TestFolder directory;
  const std::string file = (directory / "restante.db").string();
  sqlite::Health health;
  std::unique_ptr<Database> database;
};

TEST_F(SqliteMigrations, UpDownAndUpAgainGivesTheSameSchemaAtEveryStep) {
  Migrations migrations(*database);
  const auto count = static_cast<int>(sqlite::known_migrations().size());
  ASSERT_GE(count, 3);
  EXPECT_EQ(migrations.up(at(0)), count);
  EXPECT_EQ(migrations.up(at(1)), 0);
  const auto complete = schema();
  std::vector<std::vector<std::string>> on_the_way_down;
  while (migrations.down()) on_the_way_down.push_back(schema());
  ASSERT_EQ(on_the_way_down.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(on_the_way_down.back().size(), 1u) << "only schema_migrations is left";
  EXPECT_EQ(migrations.up(at(2)), count);
  EXPECT_EQ(schema(), complete);

  // And each step alone, up from every schema of the way down.
  for (int steps = 1; steps <= count; ++steps) {
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(migrations.down());
    EXPECT_EQ(schema(), on_the_way_down[static_cast<std::size_t>(steps) - 1]);
    EXPECT_EQ(migrations.up(at(3)), steps);
    EXPECT_EQ(schema(), complete);
  }
}

TEST_F(SqliteMigrations, TheIndexesCarryTheNamesOfTheContract) {
  Migrations(*database).up(at(0));
  for (const char* name :
       {"idx_pending_uploads_workspace_unacked", "idx_pending_uploads_expires", "idx_pending_uploads_acked"}) {
    EXPECT_TRUE(has(name)) << name;
  }
}

TEST_F(SqliteMigrations, AFailedStepLeavesTheStepBeforeItAndIsTriedAgain) {
  const Migration good{1, "good", 1, "CREATE TABLE a (x INTEGER);", "DROP TABLE a;"};
  const Migration bad{2, "bad", 2, "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);", "DROP TABLE b;"};
  const Migration repaired{2, "bad", 2, "CREATE TABLE b (x INTEGER);", "DROP TABLE b;"};
  const Migration with_bad[] = {good, bad};
  EXPECT_THROW(Migrations(*database, with_bad).up(at(0)), Unavailable);
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b")) << "the first half of the step is undone";
  const Migration with_repaired[] = {good, repaired};
  EXPECT_EQ(Migrations(*database, with_repaired).missing()->version, 2);
  EXPECT_EQ(Migrations(*database, with_repaired).up(at(0)), 1);
  EXPECT_TRUE(has("b"));
}

TEST_F(SqliteMigrations, AMigrationThatWasChangedAfterItWasAppliedIsRefused) {
  const Migration before[] = {{1, "before", 1, "CREATE TABLE a (x INTEGER);", "DROP TABLE a;"}};
  const Migration renamed[] = {{1, "after", 1, "CREATE TABLE a (x INTEGER);", "DROP TABLE a;"}};
  const Migration rewritten[] = {{1, "before", 1, "CREATE TABLE a (x INTEGER, y INTEGER);", "DROP TABLE a;"}};
  Migrations(*database, before).up(at(0));
  EXPECT_THROW(Migrations(*database, renamed).up(at(0)), OpenRefused);
  EXPECT_THROW(Migrations(*database, rewritten).up(at(0)), OpenRefused);
  EXPECT_NO_THROW(Migrations(*database, before).up(at(0)));
}

TEST_F(SqliteMigrations, ATableOfMigrationsWithoutDigestsIsRefusedWithASentence) {
  Migrations(*database).up(at(0));
  database->execute("ALTER TABLE schema_migrations DROP COLUMN digest");
  try {
    Migrations(*database).require_ours();
    ADD_FAILURE() << "was not refused";
  } catch (const OpenRefused& refused) {
    EXPECT_NE(std::string(refused.what()).find("start afresh"), std::string::npos) << refused.what();
  }
}

TEST_F(SqliteMigrations, ANewerBinarysMigrationIsShownAndNotTakenBack) {
  const Migration old[] = {{1, "one", 1, "CREATE TABLE a (x INTEGER);", "DROP TABLE a;"}};
  const Migration both[] = {old[0], {2, "two", 1, "CREATE TABLE b (x INTEGER);", "DROP TABLE b;"}};
  Migrations(*database, both).up(at(7));
  Migrations older(*database, old);
  EXPECT_NO_THROW(older.require_ours()) << "the second migration allows the first binary";
  const auto status = older.status();
  ASSERT_EQ(status.size(), 2u);
  EXPECT_EQ(status[1].name, "two");
  EXPECT_EQ(status[1].applied_at, at(7));
  EXPECT_FALSE(status[1].known);
  EXPECT_THROW(older.down(), OpenRefused);
  EXPECT_TRUE(has("b"));
}

TEST_F(SqliteMigrations, RowsSurviveTheStepsThatDoNotConcernThem) {
  database.reset();
  WorkspaceId workspace;
  {
    auto store = sqlite::open(file, {.now = at(0)});
    workspace = store->create_workspace({}, at(0)).take()->id;
    ASSERT_TRUE(store->append_to_inbox(workspace, message("kept"), at(0)).take());
  }
  ASSERT_TRUE(sqlite::migrate_down(file));
  EXPECT_FALSE(sqlite::migration_status(file).back().applied_at);
  EXPECT_EQ(sqlite::migrate_up(file, at(5)), 1);
  EXPECT_EQ(sqlite::migration_status(file).back().applied_at, at(5));
  auto store = sqlite::open(file, {.now = at(9)});
  EXPECT_EQ(store->read_inbox(workspace, {})->front().summary, "kept");
  EXPECT_EQ(sqlite::migration_status(file).back().applied_at, at(5)) << "also beside a running server";
}

TEST_F(SqliteMigrations, AWorkspaceFromBeforeTheInboxGetsAnInbox) {
  Migrations migrations(*database);
  migrations.up(at(0));
  while (migrations.status().at(1).applied_at) ASSERT_TRUE(migrations.down());
  const auto workspace = WorkspaceId::make(at(0));
  database->run("INSERT INTO workspaces (id, name, created_at, updated_at) VALUES (?, 'old', 0, 0)", workspace);
  migrations.up(at(1));
  database.reset();
  auto store = sqlite::open(file, {.now = at(2)});
  EXPECT_EQ(store->append_to_inbox(workspace, message("first"), at(2)).take()->seq, 1);
  EXPECT_EQ(store->find_workspace(workspace)->delivery_mode, DeliveryMode::push) << "a mode never given reads as push";
}

}  // namespace
}  // namespace restante::testing
