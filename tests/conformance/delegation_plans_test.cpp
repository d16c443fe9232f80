// Among a million delegations those in flight are found by their partial indexes: the query plans and SQLite's own
// counts show it.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdlib>

#include "backends.h"
#include "base/test_folder.h"
#include "postgres_server.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"
#include "store/sql/delegation_rows.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kMany = 1'000'000;

DelegationFilter in_flight() {
  DelegationFilter filter;
  filter.in_flight = true;
  return filter;
}

DelegationFilter in_flight_of(WorkspaceId workspace) {
  DelegationFilter filter = in_flight();
  filter.workspace = workspace;
  filter.direction = DelegationFilter::Direction::sent;
  return filter;
}

// -- SQLite

class SqliteFile {
 public:
  explicit SqliteFile(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
  ~SqliteFile() { sqlite3_close(handle_); }
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  void execute(const std::string& sql) {
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << (why ? why : "");
    sqlite3_free(why);
  }
  std::string plan(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &statement, nullptr), SQLITE_OK);
    std::string lines;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      lines += reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
      lines += '\n';
    }
    sqlite3_finalize(statement);
    return lines;
  }
  // How many instructions SQLite needs to answer it.
  int effort(const std::string& sql, std::int64_t first, std::int64_t second) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    sqlite3_bind_int64(statement, 1, first);
    sqlite3_bind_int64(statement, 2, second);
    while (sqlite3_step(statement) == SQLITE_ROW) continue;
    const int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return steps;
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::int64_t micros(Time time) { return time.time_since_epoch().count(); }

// One in ten thousand is in flight.
TEST(DelegationPlans, SqliteFindsTasksInFlightAmongAMillion) {
  const TestFolder directory;
  const auto path = directory / "restante.db";
  WorkspaceId workspace;
  {
    const auto store = sqlite::open(path, {.now = at(0)});
    workspace = store->create_workspace({}, at(0)).take()->id;
  }
  {
    SqliteFile file(path.string());
    file.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000");
    file.execute(
        "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, last_heartbeat, deadline, "
        "created_at, updated_at, finished_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i "
        "< " +
        std::to_string(kMany) +
        ") SELECT printf('d%07d', i), CAST(printf('%016d', i % 1009) AS BLOB), CAST(printf('%016d', i % 997) AS BLOB), "
        "'task', "
        "CASE WHEN i % 10000 = 0 THEN 'in_progress' ELSE "
        "'completed' END, CASE WHEN i / 10000 % 2 = 0 THEN NULL ELSE i END, i + 1000, i, i, CASE WHEN i % 10000 = 0 "
        "THEN NULL ELSE i END FROM n");
    for (const auto& [sql, index] : std::vector<std::pair<std::string, std::string>>{
             {kSelectDelegations + kOverdueCondition, "idx_delegations_inflight_deadline"},
             {kSelectDelegations + kOldHeartbeatCondition, "idx_delegations_inflight_heartbeat"},
             {kSelectDelegations + kSilentCondition, "idx_delegations_unheard"},
             {select_delegations(in_flight()), "idx_delegations_inflight_deadline"},
             {select_delegations(in_flight_of(workspace)), "idx_delegations_inflight_caller"}}) {
      EXPECT_THAT(file.plan(sql), HasSubstr("USING INDEX " + index)) << sql;
      EXPECT_THAT(file.plan(sql), Not(HasSubstr("SCAN delegations\n"))) << sql;
    }
    EXPECT_LT(file.effort(kSelectDelegations + kOverdueCondition, micros(at(0)), 100), 20'000);
    EXPECT_LT(file.effort(kSelectDelegations + kOldHeartbeatCondition, micros(at(0)), 100), 20'000);
    EXPECT_LT(file.effort(kSelectDelegations + kSilentCondition, micros(at(0)), 100), 20'000);
    EXPECT_LT(file.effort(select_delegations(in_flight()), 100, 0), 20'000);
    EXPECT_LT(file.effort("SELECT status, sum(number) FROM delegation_totals GROUP BY status", 0, 0), 1'000);
  }
  const auto store = sqlite::open(path, {.now = at(0)});
  EXPECT_EQ(store->list_delegations(in_flight()).size(), 100u);
  EXPECT_EQ(store->delegation_stats().of(DelegationStatus::in_progress), 100);
  EXPECT_EQ(store->delegation_stats().of(DelegationStatus::completed), kMany - 100);
}

// -- PostgreSQL

// EXPLAIN ANALYZE: the plan with what was really read.
std::string plan(postgres::Connection& connection, const std::string& sql, const auto&... values) {
  std::string lines;
  for (const postgres::Row row :
       connection.query("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) " + sql, values...)) {
    lines += row.text(0) + "\n";
  }
  return lines;
}

// A partial index leads to the rows, and to no others.
auto finds_them_at_once() {
  return AllOf(HasSubstr("using idx_delegations_inflight_"), Not(HasSubstr("Seq Scan")),
               Not(HasSubstr("Rows Removed")));
}

// On another version of the server fewer rows are enough.
int many() {
  const char* given = std::getenv("RESTANTE_DELEGATIONS");
  return given ? std::atoi(given) : kMany;
}

// A million rows are inserted several times faster when the indexes are made afterwards.
void fill(postgres::Connection& connection, const std::string& rows) {
  const auto indexes = connection.query(
      "SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = 'delegations' AND starts_with(indexname, "
      "'idx_')");
  connection.execute("ALTER TABLE delegations SET UNLOGGED");
  for (const postgres::Row index : indexes) connection.execute("DROP INDEX " + index.text(0));
  connection.execute(rows);
  for (const postgres::Row index : indexes) connection.execute(index.text(1));
  connection.execute("ANALYZE delegations");
}

TEST(DelegationPlans, PostgresFindsTasksInFlightAmongAMillion) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  postgres::ConnectionOptions endpoint;
  endpoint.url = database.url();
  endpoint.statement_timeout = endpoint.answer_timeout = std::chrono::minutes(5);
  postgres::Connection connection(endpoint);
  // One in a thousand is in flight: enough to be in every sample of the statistics.
  fill(connection,
       "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, last_heartbeat, deadline, "
       "created_at, updated_at, finished_at) SELECT lpad(i::text, 8, '0'), lpad((i % 1009)::text, 32, '0')::uuid, "
       "lpad((i % 997)::text, 32, '0')::uuid, 'task', CASE WHEN i "
       "% 1000 = 0 THEN 'in_progress' ELSE 'completed' END, CASE WHEN i % 2000 = 0 THEN NULL ELSE 'epoch'::timestamptz "
       "+ i * interval '1 second' END, "
       "'epoch'::timestamptz + i * interval '1 minute', 'epoch', 'epoch', CASE WHEN i % 1000 = 0 THEN NULL ELSE "
       "'epoch'::timestamptz END FROM generate_series(1, " +
           std::to_string(many()) + ") AS i");
  constexpr std::int64_t kLimit = 100;
  // The caller of the row with number 10 000.
  const auto caller = WorkspaceId::parse("00000000-0000-0000-0000-000000000919").value();
  EXPECT_THAT(plan(connection, kSelectDelegations + kOverdueCondition, at(0), kLimit), finds_them_at_once());
  EXPECT_THAT(plan(connection, kSelectDelegations + kOldHeartbeatCondition, at(0), kLimit), finds_them_at_once());
  const auto silent = plan(connection, kSelectDelegations + kSilentCondition, at(0), kLimit);
  EXPECT_THAT(silent, HasSubstr("using idx_delegations_unheard"));
  EXPECT_THAT(silent, Not(HasSubstr("Seq Scan on delegations")));
  EXPECT_THAT(plan(connection, select_delegations(in_flight_of({})), kLimit, caller), finds_them_at_once());
  EXPECT_THAT(plan(connection, select_delegations(in_flight()), kLimit), finds_them_at_once());
  const auto counted = connection.query(
      "SELECT status, sum(number)::bigint, count(*) FROM delegation_counts GROUP BY "
      "status ORDER BY status");
  ASSERT_EQ(counted.size(), 2);
  EXPECT_EQ(counted[0].integer(1), many() - many() / 1000);
  EXPECT_EQ(counted[0].integer(2), 997) << "as many rows as there are receiving agents";
  EXPECT_EQ(counted[1].integer(1), many() / 1000);
}

}  // namespace
}  // namespace restante::testing
