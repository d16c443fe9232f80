// Among many blobs every query about one finds it by an index: PostgreSQL counts the rows it read. For SQLite see
// sqlite_plans_test.
#include <gtest/gtest.h>

#include "backends.h"
#include "postgres_server.h"
#include "store/blob_key.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"
#include "walked.h"

namespace restante::testing {
namespace {

constexpr int kMany = 100'000;
constexpr int kUnfinished = 300;

struct Walked {
  std::int64_t through_tables = 0;  // rows
  std::int64_t along_indexes = 0;
};

Walked walked(postgres::Connection& connection) {
  wait_until_alone(connection);
  const auto rows = connection.query(
      "SELECT sum(seq_tup_read)::bigint, sum(idx_tup_fetch)::bigint FROM pg_stat_user_tables WHERE relname IN "
      "('inline_blobs', 'blob_chunks')");
  return {rows.front().integer(0), rows.front().integer(1)};
}

void fill(const std::string& url) {
  postgres::Connection connection(endpoint_of(url));
  connection.query(
      "INSERT INTO inline_blobs (blob_key, chunks, size_bytes, finished, touched_at) SELECT lpad(to_hex(n), 12, '0') "
      "|| "
      "'70008000000000000000', 1, 1, n > $1, to_timestamp(0) + n * interval '1 ms' FROM generate_series(1, $2) n",
      kUnfinished, kMany);
  connection.query(
      "INSERT INTO blob_chunks (blob_key, number, bytes) SELECT blob_key, 0, 'x' FROM inline_blobs ORDER BY blob_key");
  connection.query("ANALYZE inline_blobs");
  connection.query("ANALYZE blob_chunks");
}

TEST(ChunkPlans, PostgresFindsEverythingByAnIndex) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  fill(database.url());
  postgres::Connection connection(endpoint_of(database.url()));
  const Walked before = walked(connection);
  {
    postgres::Options options;
    options.connect_timeout = options.statement_timeout = std::chrono::minutes(2);
    const auto store = postgres::open(database.url(), options);
    Chunks& chunks = store->chunks();
    const auto key = new_blob_key(at(0));
    chunks.append({key, 0, "a"}, at(0)).take().value();
    chunks.append({key, 1, "b"}, at(0)).take().value();
    chunks.finish({key, 2, "c"}, at(0)).take().value();
    EXPECT_EQ(chunks.find(key), 3u);
    char byte = 0;
    EXPECT_EQ(chunks.read(key, 1, 0, {&byte, 1}), 1u);
    EXPECT_EQ(chunks.list("", at(1), 100).size(), 100u);
    EXPECT_EQ(chunks.list(first_blob_key(at(0)), at(1), 100).size(), 1u);
    EXPECT_EQ(chunks.drop({key}).take()->blobs, 1);
    EXPECT_EQ(chunks.drop({new_blob_key(at(0))}).take()->blobs, 0);
    std::int64_t dropped = 0;
    for (ChunkDrop step{0, true}; step.more; dropped += step.blobs) {
      step = chunks.drop_unfinished(Time(std::chrono::hours(1))).take().value();
    }
    EXPECT_EQ(dropped, kUnfinished);
    EXPECT_EQ(chunks.drop_unfinished(at(1)).take()->blobs, 0);
  }
  const Walked after = walked(connection);
  EXPECT_EQ(after.through_tables - before.through_tables, 0);
  EXPECT_GT(after.along_indexes - before.along_indexes, kUnfinished);
  // Each step reads its few hundred once more to lock, to empty and to delete them.
  EXPECT_LT(after.along_indexes - before.along_indexes, kMany / 10);
}

}  // namespace
}  // namespace restante::testing
