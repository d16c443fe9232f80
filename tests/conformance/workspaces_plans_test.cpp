// Among many workspaces the few that matter are found by an index: PostgreSQL counts the rows it read. For SQLite see
// sqlite_plans_test.
#include <gtest/gtest.h>

#include "backends.h"
#include "postgres_server.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"
#include "walked.h"

namespace restante::testing {
namespace {

constexpr int kMany = 20'000;

std::int64_t walked(postgres::Connection& connection) {
  wait_until_alone(connection);
  return connection
      .query("SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_user_tables WHERE relname = 'workspaces'")
      .front()
      .integer(0);
}

// All are offline and were reported as silent, or removed, except ten.
void fill(const std::string& url) {
  postgres::Connection connection(endpoint_of(url));
  connection.query(
      "INSERT INTO workspaces (id, name, delivery_mode, status, last_poll_at, silent_since, created_at) SELECT md5('w' "
      "|| "
      "n)::uuid, 'w', 'poll', CASE WHEN n <= 10 THEN 'online' WHEN n % 10 = 0 THEN 'removed' ELSE 'offline' END, "
      "'epoch', CASE WHEN n > 10 AND n % 10 > 0 THEN 'epoch'::timestamptz END, 'epoch'::timestamptz + n * interval '1 "
      "s' FROM generate_series(1, $1) n",
      kMany);
  connection.query("INSERT INTO inbox_heads (workspace_id) SELECT id FROM workspaces WHERE status <> 'removed'");
  connection.query("ANALYZE workspaces");
}

TEST(WorkspacePlans, PostgresLooksForAgentsThatHaveGoneAmongTheActiveOnly) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  fill(database.url());
  postgres::Connection connection(endpoint_of(database.url()));
  const std::int64_t before = walked(connection);
  {
    const auto store = postgres::open(database.url(), {});
    EXPECT_EQ(store->list_quiet_agents(at(1)).size(), 10u);
    EXPECT_EQ(store->set_unseen_agents_offline(Time(), at(0)).take()->size(), 0u);
    EXPECT_EQ(store->set_unseen_agents_offline(at(1), at(1)).take()->size(), 10u);
    EXPECT_EQ(store->set_unseen_agents_offline(at(1), at(1)).take()->size(), 0u);
    EXPECT_EQ(store->list_quiet_agents(at(1)).size(), 10u);
  }
  EXPECT_LE(walked(connection) - before, 200);
}

TEST(WorkspacePlans, PostgresFindsTheRelativesOfOneByTheirIndex) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  fill(database.url());
  postgres::Connection connection(endpoint_of(database.url()));
  const std::int64_t before = walked(connection);
  {
    const auto store = postgres::open(database.url(), {});
    NewWorkspace child;
    child.parent_id = store->create_workspace({}, at(0)).take()->id;
    const auto id = store->create_workspace(child, at(0)).take()->id;
    ASSERT_TRUE(store->create_workspace(child, at(0)).take());
    EXPECT_EQ(store->list_relatives(id, true).size(), 2u);
    EXPECT_EQ(store->list_relatives(id, true, {{}, 1}).size(), 1u);
  }
  EXPECT_LE(walked(connection) - before, 200);
}

}  // namespace
}  // namespace restante::testing
