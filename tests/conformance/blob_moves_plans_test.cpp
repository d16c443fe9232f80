// Among many rows every step of a blob move finds its few by an index: PostgreSQL counts the rows it read. For SQLite
// see sqlite_plans_test.
#include <gtest/gtest.h>

#include "backends.h"
#include "postgres_server.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"
#include "walked.h"

namespace restante::testing {
namespace {

constexpr int kMany = 100'000;
constexpr std::int64_t kFew = 2'000;

// Rows of uploads that were read from the table and from its indexes.
std::int64_t walked(postgres::Connection& connection) {
  wait_until_alone(connection);
  return connection
      .query(
          "SELECT (sum(seq_tup_read) + sum(idx_tup_fetch))::bigint FROM pg_stat_user_tables WHERE relname IN "
          "('pending_uploads', 'dropped_blobs')")
      .front()
      .integer(0);
}

// Half of them in two places, the others in one.
void fill(const std::string& url) {
  postgres::Connection connection(endpoint_of(url));
  connection.query(
      "INSERT INTO workspaces (id, name, delivery_mode) SELECT md5('w' || n)::uuid, 'w', 'poll' FROM "
      "generate_series(1, 100) n");
  connection.query("INSERT INTO inbox_heads (workspace_id) SELECT id FROM workspaces");
  connection.query(
      "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, twin_key, size_bytes, filename, sha256, "
      "created_at, expires_at) SELECT md5('f' || n)::uuid, md5('w' || n % 100 + 1)::uuid, CASE WHEN n % 2 = 0 THEN "
      "'s3:' ELSE '' END || lpad(to_hex(n), 32, '0'), CASE WHEN n % 2 = 0 THEN lpad(to_hex(n), 32, '0') END, 1, 'f', "
      "sha256('x'), now(), now() + interval '1 day' FROM generate_series(1, $1) n",
      kMany);
  connection.query("ANALYZE pending_uploads");
}

TEST(BlobMovePlans, PostgresFindsEverythingByAnIndex) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  fill(database.url());
  postgres::Connection connection(endpoint_of(database.url()));
  const std::int64_t before = walked(connection);
  {
    postgres::Options options;
    options.connect_timeout = options.statement_timeout = std::chrono::minutes(2);
    const auto store = postgres::open(database.url(), options);
    ASSERT_TRUE(store->begin_blob_move(Place::dir, Place::s3, 0, at(1)).take());
    const auto left = store->list_blobs(KeyRole::first, Place::dir, "", 20);
    ASSERT_EQ(left.size(), 20u);
    for (const auto& blob : left) {
      const BlobKeys is{"s3:" + blob.keys.key, blob.keys.key};
      EXPECT_EQ(store->change_blob_keys({{blob.keys, is}}, at(1)).take().value(), 1);
    }
    EXPECT_EQ(store->list_blobs(KeyRole::first, Place::dir, left.back().keys.key, 20).size(), 20u);
    EXPECT_TRUE(store->list_blobs(KeyRole::first, Place::inlined, "", 20).empty());
    const auto twins = store->list_blobs(KeyRole::twin, Place::dir, "", 20);
    std::vector<BlobChange> changes;
    for (const auto& blob : twins) changes.push_back({blob.keys, {blob.keys.key, {}}});
    EXPECT_EQ(store->change_blob_keys(changes, at(2)).take().value(), 20);
    EXPECT_EQ(store->list_dropped_blobs(30, at(3), "").size(), 20u);
    std::vector<std::string> keys;
    for (const auto& blob : twins) keys.push_back(blob.keys.twin);
    EXPECT_EQ(store->known_blobs(keys).size(), 20u);
  }
  EXPECT_LE(walked(connection) - before, kFew);
}

}  // namespace
}  // namespace restante::testing
