// The cost of a verb must not grow with the number of rows: no statement of uploads scans a table. SQLite counts the
// steps of every full scan; a hook on each new connection collects them.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "backends.h"
#include "base/test_folder.h"
#include "store/blob_key.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

std::mutex scans_mutex;
std::set<std::string> scans;
std::map<std::string, int> steps;  // of SQLite's machine, by statement
bool only_writes = false;          // counts the steps of statements in transactions only

int record_scan(unsigned, void*, void* statement, void*) {
  auto* finished = static_cast<sqlite3_stmt*>(statement);
  {
    const std::lock_guard lock(scans_mutex);
    const int made = sqlite3_stmt_status(finished, SQLITE_STMTSTATUS_VM_STEP, 1);
    if (!only_writes || sqlite3_get_autocommit(sqlite3_db_handle(finished)) == 0) steps[sqlite3_sql(finished)] += made;
  }
  if (sqlite3_stmt_status(finished, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1) == 0) return 0;
  const std::lock_guard lock(scans_mutex);
  scans.insert(sqlite3_sql(finished));
  return 0;
}

int watch(sqlite3* database, const char**, const void*) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, record_scan, nullptr);
}

class SqlitePlans : public ::testing::Test {
 protected:
  SqlitePlans() {
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
    store = sqlite::open(directory / "restante.db", {.now = at(0)});
    forget();
  }
  ~SqlitePlans() override { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  static void forget() {
    const std::lock_guard lock(scans_mutex);
    scans.clear();
  }
  static std::set<std::string> scanned() {
    const std::lock_guard lock(scans_mutex);
    return scans;
  }

  TestFolder directory;
  std::unique_ptr<Store> store;
};

TEST_F(SqlitePlans, TheHookSeesAScan) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->create_workspace({}, at(0)).take());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((directory / "restante.db").c_str(), &other), SQLITE_OK);
  const char* scan = "SELECT id FROM workspaces WHERE role = 'x'";
  EXPECT_EQ(sqlite3_exec(other, scan, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_THAT(scanned(), ::testing::ElementsAre(scan));
}

TEST_F(SqlitePlans, NoVerbOfUploadsScansATable) {
  const auto workspace = store->create_workspace({}, at(0)).take()->id;
  auto out = until(at(1000));
  out.direction = UploadDirection::out;
  out.quota = {1 << 30, 1000};
  const auto outgoing = file("out");
  ASSERT_TRUE(store->stage_uploads(workspace, {outgoing, small_file("out", "small")}, out, at(0)).take());
  std::vector<FileId> ids;
  for (int i = 0; i < 40; ++i) {
    const auto item = i % 2 == 0 ? file("f") : small_file("f", "content");
    ids.push_back(item.id);
    ASSERT_TRUE(store->stage_uploads(workspace, {item}, until(at(100 + i)), at(i)).take());
  }
  forget();
  const OutgoingFile copy{workspace, outgoing.id, FileId::make(at(0))};
  ASSERT_TRUE(store->append_to_inbox_with_files(workspace, message("m", "id"), {copy}, out, at(50)).take());
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(store->mark_fetched(workspace, ids[i], at(50)).take());
    ASSERT_TRUE(store->fail_upload(workspace, ids[i], "why", at(50)).take());
    ASSERT_TRUE(store->ack_upload(workspace, ids[i], at(50)).take());
    ASSERT_TRUE(store->recall_upload(workspace, ids[i + 10], {}, at(50)).take());
    EXPECT_TRUE(store->read_upload(workspace, ids[i]));
    EXPECT_TRUE(store->find_upload_status(workspace, ids[i + 10], at(50)));
  }
  store->list_waiting(workspace, ids[5], 3, at(50));
  EXPECT_EQ(store->walk_uploads(*std::ranges::min_element(ids), 3).size(), 3u);
  EXPECT_EQ(store->mark_damaged(workspace, ids[20], UploadDamage::changed, at(50)).take()->size(), 1u);
  EXPECT_EQ(store->mark_damaged(workspace, ids[21], UploadDamage::changed, at(50)).take()->size(), 1u);
  EXPECT_EQ(store->sweep_uploads(std::chrono::seconds(3600), 500, at(51)).take()->acked, 0);
  EXPECT_EQ(store->sweep_uploads(std::chrono::seconds(0), 5, at(51)).take()->acked, 5);
  EXPECT_EQ(store->sweep_uploads(std::chrono::seconds(3600), 5, at(139)).take()->expired.size(), 5u);
  const auto keys = store->list_dropped_blobs(3, at(0), "");
  EXPECT_EQ(store->known_blobs(keys), keys);
  ASSERT_TRUE(store->forget_dropped_blobs(keys).take());
  for (const auto group : {UploadGroup::waiting, UploadGroup::never_fetched, UploadGroup::fetched, UploadGroup::failed,
                           UploadGroup::acked, UploadGroup::expired, UploadGroup::outgoing, UploadGroup::damaged}) {
    UploadFilter filter;
    filter.group = group;
    store->list_uploads(filter, at(51));
    filter.workspace = workspace;
    store->list_uploads(filter, at(51));
  }
  store->upload_stats(at(130));
  ASSERT_TRUE(store->begin_blob_move(Place::dir, Place::s3, 0, at(130)).take());
  ASSERT_TRUE(store->take_blob_move_lease(WorkerId::make(at(0)), at(140), at(130)).take());
  for (const auto& blob : store->list_blobs(KeyRole::first, Place::dir, "", 3)) {
    ASSERT_TRUE(store->change_blob_keys({{blob.keys, {"s3:" + blob.keys.key, blob.keys.key}}}, at(130)).take());
  }
  EXPECT_FALSE(store->list_blobs(KeyRole::twin, Place::dir, "", 3).empty());
  EXPECT_TRUE(store->list_blobs(KeyRole::first, Place::inlined, "", 3).empty());
  store->count_blobs();
  for (const auto& sql : scanned()) {
    // The figures of all workspaces are a sum over upload_totals, which has one row for each writing session. The list
    // of dropped blobs is read from its beginning up to its limit.
    EXPECT_TRUE(sql.find("FROM upload_totals") != std::string::npos ||
                sql.find("FROM dropped_blobs") != std::string::npos ||
                sql.find("blob_moves") != std::string::npos)  // it has one row
        << sql;
  }
}

TEST_F(SqlitePlans, NoVerbOfChunksScansATable) {
  Chunks& chunks = store->chunks();
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) {
    keys.push_back(new_blob_key(at(i)));
    chunks.append({keys.back(), 0, "a"}, at(i)).take().value();
    if (i % 4 != 0) chunks.finish({keys.back(), 1, "b"}, at(i)).take().value();
  }
  forget();
  chunks.append({keys[0], 1, "b"}, at(50)).take().value();
  chunks.finish({keys[0], 2, "c"}, at(50)).take().value();
  EXPECT_EQ(chunks.find(keys[0]), 3u);
  char byte = 0;
  EXPECT_EQ(chunks.read(keys[0], 1, 0, {&byte, 1}), 1u);
  EXPECT_EQ(chunks.list(keys[5], at(100), 3).size(), 3u);
  EXPECT_EQ(chunks.drop({keys[0], keys[1]}).take()->blobs, 2);
  EXPECT_EQ(chunks.drop_unfinished(at(100)).take()->blobs, 9);
  EXPECT_THAT(scanned(), ::testing::IsEmpty());
}

class SqliteGrowth : public SqlitePlans {
 protected:
  // Unrelated ones, each with two rows and a file. Their agents polled and went away.
  void make_workspaces(int number) {
    for (int i = 0; i < number; ++i) {
      NewWorkspace wanted;
      wanted.parent_id = store->create_workspace({}, at(100)).take()->id;
      const auto workspace = store->create_workspace(wanted, at(100)).take()->id;
      ASSERT_TRUE(store->append_to_inbox(workspace, message("m"), at(100)).take());
      ASSERT_TRUE(store->stage_uploads(workspace, {small_file("f", "content")}, until(at(1'000'000)), at(100)).take());
      ASSERT_TRUE(store->record_polls(std::vector{PollRecord{workspace, at(100)}}).take());
      ASSERT_EQ(store->record_silences({{workspace, at(100)}}, at(150)).take()->size(), 1u);
    }
    ASSERT_TRUE(store->set_unseen_agents_offline(at(101), at(150)).take());
  }
  std::map<std::string, int> steps_of(const std::function<void()>& verb, bool writes) {
    verb();  // the statements are prepared
    {
      const std::lock_guard lock(scans_mutex);
      steps.clear();
      only_writes = writes;
    }
    verb();
    const std::lock_guard lock(scans_mutex);
    only_writes = false;
    return steps;
  }
  // The number of the machine's steps is a cost that does not depend on the machine.
  void expect_flat(const std::map<std::string, std::function<void()>>& verbs, bool writes = false) {
    make_workspaces(20);
    std::map<std::string, std::map<std::string, int>> before;
    for (const auto& [name, verb] : verbs) before[name] = steps_of(verb, writes);
    make_workspaces(200);
    for (const auto& [name, verb] : verbs) {
      for (const auto& [sql, number] : steps_of(verb, writes)) {
        EXPECT_LE(number, before[name][sql] * 5 / 4 + 50) << name << ": " << sql;
      }
    }
  }
};

TEST_F(SqliteGrowth, WhatIsAskedForOftenCostsTheSameWithTenTimesTheWorkspaces) {
  const auto parent = store->create_workspace({}, at(0)).take()->id;
  std::vector<WorkspaceId> children;
  for (int i = 0; i < 3; ++i) {
    NewWorkspace wanted;
    wanted.parent_id = parent;
    children.push_back(store->create_workspace(wanted, at(1)).take()->id);
  }
  InboxQuery query;
  query.type = "agent_log";
  query.above_seq = 0;
  UploadFilter waiting;
  waiting.limit = 10;
  expect_flat({{"peers", [&] { EXPECT_EQ(store->list_relatives(children[0], true).size(), 3u); }},
               {"a page of peers", [&] { EXPECT_EQ(store->list_relatives(parent, false, {{}, 2}).size(), 2u); }},
               {"a page of workspaces", [&] { EXPECT_EQ(store->list_workspaces({children[0], 5}).size(), 5u); }},
               {"a search", [&] { EXPECT_TRUE(store->search_inbox(children[0], query, 100)); }},
               {"the figures of files", [&] { store->upload_stats(at(200), {.limit = 0}); }},
               {"a page of the figures of files", [&] { store->upload_stats(at(200), {.limit = 5}); }},
               {"the figures of tasks", [&] { store->delegation_stats(); }},
               {"a page of files", [&] { EXPECT_EQ(store->list_uploads(waiting, at(200)).size(), 10u); }},
               {"a list of no files",
                [&] {
                  UploadFilter failed = waiting;
                  failed.group = UploadGroup::failed;
                  EXPECT_TRUE(store->list_uploads(failed, at(200)).empty());
                }},
               {"a sweep with nothing due",
                [&] { EXPECT_EQ(store->sweep_uploads(std::chrono::hours(1), 500, at(200)).take()->acked, 0); }},
               {"a look for silent agents", [&] { EXPECT_TRUE(store->list_quiet_agents(at(200)).empty()); }},
               {"a look for agents that are not seen",
                [&] { EXPECT_TRUE(store->set_unseen_agents_offline(at(200), at(200)).take()->empty()); }},
               {"acked tasks at the start", [&] { EXPECT_TRUE(store->callees_with_acked_tasks().empty()); }}});
}

TEST_F(SqliteGrowth, RetentionDoesNotLookAtEveryWorkspaceOnTheOnlyWriter) {
  expect_flat({{"retention", [&] { EXPECT_EQ(store->prune(at(0), at(0), at(200), 100).take()->rows, 0); }}}, true);
}

}  // namespace
}  // namespace restante::testing
