// The cost of a verb must not grow with the number of rows: no statement of uploads scans a table. SQLite counts the
// steps of every full scan; a hook on each new connection collects them.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
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

int record_scan(unsigned, void*, void* statement, void*) {
  auto* finished = static_cast<sqlite3_stmt*>(statement);
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
  store->list_workspaces();
  EXPECT_EQ(scanned().size(), 1u);
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
    // There is one head for each workspace, and a sum over all heads is intended. The list of dropped blobs is read
    // from its beginning up to its limit. The figures read uploads, too; with one workspace they step through no heads.
    const bool reads_heads = sql.find("inbox_heads") != std::string::npos && sql.find("'overdue'") == std::string::npos;
    EXPECT_TRUE(reads_heads || sql.find("FROM dropped_blobs") != std::string::npos ||
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

}  // namespace
}  // namespace restante::testing
