// Changes by another server or an operator while a verb waits for its locks: the verb reads again when it gets them.
// Another session locks every inbox head meanwhile, so that the order of events is fixed.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <thread>

#include "backends.h"
#include "model/errors.h"
#include "postgres_server.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/store.h"

namespace restante::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kCeiling = 2min;

class PostgresLocks : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open() const {
    postgres::Options options;
    options.connect_timeout = options.statement_timeout = kCeiling;
    return postgres::open(database.url(), options);
  }
  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions made;
    made.url = database.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = kCeiling;
    return made;
  }
  WorkspaceId make_workspace() { return store->create_workspace({}, at(0)).take().value().id; }
  FileId stage(WorkspaceId workspace, const NewUpload& item) {
    return store->stage_uploads(workspace, {item}, until(at(100)), at(0)).take().value().at(0).upload.id;
  }
  void open_task(const std::string& id, bool to_inbox = true) {
    NewDelegation wanted;
    wanted.id = id;
    wanted.caller_id = caller;
    wanted.callee_id = callee;
    wanted.task = "do it";
    wanted.deadline = at(21'600);
    wanted.terms = until(at(86'400));
    wanted.to_inbox = to_inbox;
    ASSERT_TRUE(store->open_delegation(wanted, at(1)).take());
  }
  static DelegationReport done() {
    DelegationReport report;
    report.status = DelegationStatus::completed;
    report.text = "done";
    report.by = DelegationActor::callee;
    report.terms = until(at(86'400));
    return report;
  }
  void wait_for_lock_wait() {
    const auto end = std::chrono::steady_clock::now() + kCeiling;
    // In a separate session: within a transaction the list does not change.
    while (
        watcher
            .query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND "
                   "pid <> pg_backend_pid()")
            .empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(1ms);
    }
  }
  // Another file of the workspace `to` with the blob of an upload.
  static std::string copy_of(const NewUpload& item, WorkspaceId to) {
    return "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, mimetype, sha256, "
           "direction, created_at, expires_at) SELECT '" +
           FileId::make(at(0)).text() + "', '" + to.text() + "', '" + item.blob_key +
           "', size_bytes, filename, mimetype, sha256, direction, created_at, expires_at FROM pending_uploads WHERE "
           "file_id = '" +
           item.id.text() + "'";
  }
  // The result of `start()` when these changes were made while it waited.
  template <class Start>
  auto while_waiting(Start start, const std::vector<std::string>& changes) {
    outside.query("BEGIN");
    outside.query("SELECT 1 FROM inbox_heads ORDER BY workspace_id FOR UPDATE");
    auto commit = start();
    wait_for_lock_wait();
    // In the transaction that holds the locks: the waiting one sees all of it.
    for (const auto& change : changes) outside.query(change);
    outside.query("COMMIT");
    return commit.take();
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  postgres::Connection outside{endpoint()};
  postgres::Connection watcher{endpoint()};
  std::unique_ptr<Store> store = open();
  const WorkspaceId caller = make_workspace();
  const WorkspaceId callee = make_workspace();
};

TEST_F(PostgresLocks, ATaskThatWasDeletedBeforeTheLockIsNotFound) {
  const std::vector<std::string> deletions{"DELETE FROM delegation_steps", "DELETE FROM delegation_texts",
                                           "DELETE FROM delegations"};
  open_task("d1");
  EXPECT_ERROR(while_waiting([&] { return store->advance_delegation(callee, "d1", done(), at(2)); }, deletions),
               errors::delegation_not_found);
  open_task("d2", false);
  EXPECT_ERROR(while_waiting([&] { return store->deliver_delegation("d2", at(2)); }, deletions),
               errors::delegation_not_found);
}

TEST_F(PostgresLocks, ATaskThatIsNoLongerDueUnderTheLockIsNotSwept) {
  for (const char* id : {"overdue", "silent", "unheard"}) open_task(id);
  open_task("undelivered", false);
  const std::vector<std::string> due{
      "UPDATE delegations SET status = 'dispatched', finished_at = NULL, deadline = '2026-02-01'",
      "UPDATE delegations SET deadline = '2026-01-01 00:00:05', last_heartbeat = '2026-03-01' WHERE delegation_id = "
      "'overdue'",
      "UPDATE delegations SET last_heartbeat = '2026-01-01' WHERE delegation_id = 'silent'",
      "UPDATE delegations SET last_heartbeat = NULL, updated_at = '2026-01-01' WHERE delegation_id = 'unheard'",
      "UPDATE delegations SET status = 'queued', inbox_seq = NULL WHERE delegation_id = 'undelivered'",
      "UPDATE workspaces SET last_poll_at = NULL, last_heartbeat_at = NULL"};
  const std::vector<std::vector<std::string>> changes_meanwhile{
      {"UPDATE delegations SET deadline = '2026-02-01', last_heartbeat = '2026-03-01', inbox_seq = 1"},
      {"UPDATE delegations SET status = 'completed', finished_at = now()"},
      {"UPDATE delegations SET deadline = '2026-02-01', last_heartbeat = NULL, status = 'queued', inbox_seq = 1"},
      {"UPDATE delegations SET deadline = '2026-02-01', last_heartbeat = NULL, inbox_seq = 1",
       "UPDATE workspaces SET last_poll_at = '2026-03-01'"},
      {"DELETE FROM delegation_steps", "DELETE FROM delegation_texts", "DELETE FROM delegations"}};
  const Time now = at(3'600);
  for (const auto& changes : changes_meanwhile) {
    for (const auto& statement : due) outside.query(statement);
    const auto swept = while_waiting([&] { return store->sweep_delegations(at(1'800), at(1'800), 100, now); }, changes);
    EXPECT_THAT(swept.value().changes, IsEmpty()) << changes.front();
  }
}

TEST_F(PostgresLocks, ATaskWhoseReceivingAgentWasRemovedBeforeTheLockIsNotDelivered) {
  open_task("d1", false);
  const auto swept = while_waiting([&] { return store->sweep_delegations(at(0), at(1'800), 100, at(3'600)); },
                                   {"UPDATE workspaces SET status = 'removed' WHERE id = '" + callee.text() + "'"});
  EXPECT_THAT(swept.value().changes, IsEmpty());
}

TEST_F(PostgresLocks, ATaskThatDidNotChangeBeforeTheLockIsSwept) {
  open_task("d1");
  const auto swept = while_waiting([&] { return store->sweep_delegations(at(0), at(0), 100, at(30'000)); }, {});
  EXPECT_EQ(swept.value().changes.size(), 1u);
}

TEST_F(PostgresLocks, ATaskThatTheDatabaseDoesNotUpdateIsAConflict) {
  open_task("d1");
  outside.execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER "
      "refuse BEFORE UPDATE ON delegations FOR EACH ROW EXECUTE FUNCTION refuse()");
  EXPECT_THROW(store->advance_delegation(callee, "d1", done(), at(2)).take(), postgres::Conflict);
  outside.query("DROP TRIGGER refuse ON delegations");
  EXPECT_TRUE(store->advance_delegation(callee, "d1", done(), at(2)).take());
}

TEST_F(PostgresLocks, AWorkspaceThatPolledBeforeTheLockIsNotSilent) {
  outside.query("UPDATE workspaces SET status = 'online', last_poll_at = '2026-01-01'");
  const WorkspaceId late = make_workspace();
  const auto settle = [&] { return store->set_unseen_agents_offline(at(60), at(120)); };
  // One workspace polls, and another becomes silent whose head is not locked.
  const auto changed = while_waiting(
      settle,
      {"UPDATE workspaces SET last_poll_at = '2026-02-01' WHERE id = '" + caller.text() + "'",
       "UPDATE workspaces SET status = 'online', last_poll_at = '2026-01-01' WHERE id = '" + late.text() + "'"});
  ASSERT_EQ(changed.value().size(), 1u);
  EXPECT_EQ(changed.value().front().id, callee);
  EXPECT_THAT(while_waiting(settle, {"UPDATE workspaces SET last_poll_at = '2026-02-01'"}).value(), IsEmpty());
}

TEST_F(PostgresLocks, OfRowsOfOneBlobOnlyExistingAndUndamagedOnesAreMarked) {
  auto shared = file("a.txt");
  const FileId first = stage(callee, shared);
  auto stage_copy = [&] {
    shared.id = FileId::make(at(0));
    return stage(caller, shared);
  };
  const FileId second = stage_copy();
  const FileId third = stage_copy();
  const auto changes =
      while_waiting([&] { return store->mark_damaged(callee, first, UploadDamage::changed, at(1)); },
                    {"DELETE FROM pending_uploads WHERE file_id = '" + second.text() + "'",
                     "UPDATE pending_uploads SET damage = 'missing' WHERE file_id = '" + third.text() + "'"});
  ASSERT_EQ(changes.value().size(), 1u);
  EXPECT_EQ(changes.value().front().upload.id, first);
}

TEST_F(PostgresLocks, ACopyThatWasCommittedBeforeTheLockIsMarkedAsDamagedToo) {
  const auto shared = file("a.txt");
  const FileId first = stage(callee, shared);
  const auto changes = while_waiting([&] { return store->mark_damaged(callee, first, UploadDamage::changed, at(1)); },
                                     {copy_of(shared, caller), copy_of(shared, caller)});
  EXPECT_EQ(changes.value().size(), 3u);
}

TEST_F(PostgresLocks, ACopyThatWasCommittedBeforeTheLockKeepsNoKeyThatIsDropped) {
  const auto shared = file("a.txt");
  stage(callee, shared);
  postgres::Connection copier{endpoint()};
  const std::int64_t copiers_process = copier.query("SELECT pg_backend_pid()::bigint").front().integer(0);
  outside.query("BEGIN");
  outside.query("SELECT 1 FROM inbox_heads WHERE workspace_id = $1 FOR UPDATE", callee);
  copier.query("BEGIN");
  copier.query("SELECT 1 FROM inbox_heads WHERE workspace_id = $1 FOR UPDATE", caller);
  auto moved = store->change_blob_keys({{shared.keys(), {"s3:" + shared.blob_key, {}}}}, at(2));
  std::atomic<bool> done{false};
  moved.on_done([&done] { done = true; });
  wait_for_lock_wait();
  outside.query(copy_of(shared, caller));
  outside.query("COMMIT");
  // The copier has read the key of that copy. The change of the key must wait for it.
  const auto end = std::chrono::steady_clock::now() + kCeiling;
  while (!done && watcher
                      .query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND $1::bigint::int = "
                             "ANY(pg_blocking_pids(pid))",
                             copiers_process)
                      .empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(1ms);
  }
  copier.query(copy_of(shared, caller));
  copier.query("COMMIT");
  EXPECT_EQ(moved.take().value(), 3);
  EXPECT_TRUE(watcher.query("SELECT 1 FROM pending_uploads JOIN dropped_blobs USING (blob_key)").empty());
}

TEST_F(PostgresLocks, BlobsThatWereDeletedOrMovedBeforeTheLockKeepTheirKeys) {
  const auto deletions = file("gone.txt"), moved = file("moved.txt"), stays = file("stays.txt");
  for (const auto& item : {deletions, moved, stays}) stage(callee, item);
  std::vector<BlobChange> changes;
  for (const auto& item : {deletions, moved, stays}) changes.push_back({item.keys(), {"s3:" + item.blob_key, {}}});
  const auto placed =
      while_waiting([&] { return store->change_blob_keys(changes, at(2)); },
                    {"DELETE FROM pending_uploads WHERE file_id = '" + deletions.id.text() + "'",
                     "UPDATE pending_uploads SET blob_key = 'inline:1' WHERE file_id = '" + moved.id.text() + "'"});
  EXPECT_EQ(placed.value(), 1);
  EXPECT_EQ(store->find_upload(callee, moved.id)->blob_key, "inline:1");
  EXPECT_EQ(store->find_upload(callee, stays.id)->blob_key, "s3:" + stays.blob_key);
  EXPECT_THAT(store->list_dropped_blobs(10, at(100), ""), ElementsAre(stays.blob_key))
      << "the others have no blob to drop";
}

TEST_F(PostgresLocks, OfTwoServersThatBeginABlobMoveAtOnceTheSecondFindsTheMoveOfTheFirst) {
  const auto begin_meanwhile = [&](Place from, Place to) {
    outside.query("BEGIN");
    outside.query(
        "INSERT INTO blob_moves (from_place, to_place, phase, rate, begun_at, phase_at) VALUES ('dir', 's3', 'both', "
        "5, '2026-01-01', '2026-01-01')");
    auto second = store->begin_blob_move(from, to, 7, at(1));
    wait_for_lock_wait();
    outside.query("COMMIT");
    return second.take();
  };
  const auto same = begin_meanwhile(Place::dir, Place::s3);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->step, BegunBlobMove::Step::repeated);
  EXPECT_EQ(store->find_blob_move(), (BlobMove{Place::dir, Place::s3, BlobPhase::both, 7, at(0), at(0)}));
  outside.query("DELETE FROM blob_moves");
  EXPECT_ERROR(begin_meanwhile(Place::dir, Place::inlined), errors::blob_move_under_way);
  EXPECT_EQ(store->find_blob_move()->rate, 5) << "as the first server set it";
}

TEST_F(PostgresLocks, TwoVerbsUnderOneClaimInOneGroupHaveOneEffect) {
  const Claim claim{sha256("scope"), sha256("request"), at(99)};
  const auto append_once = [&] {
    const ClaimedAnswer<Appended> once{claim, [](const Appended&) { return "answer"; }};
    return store->append_to_inbox(callee, message("said", "id"), at(1), once);
  };
  outside.query("BEGIN");
  outside.query("SELECT 1 FROM inbox_heads FOR UPDATE");
  auto before = store->append_to_inbox(callee, message("before"), at(1));
  wait_for_lock_wait();
  auto one = append_once();
  auto other = append_once();
  outside.query("COMMIT");
  EXPECT_EQ(before.take()->seq, 1);
  EXPECT_EQ(one.take()->seq, 2);
  EXPECT_EQ(earlier_answer_of(other.take()), "answer");
  EXPECT_EQ(store->find_head(callee)->last_seq, 2);
}

TEST_F(PostgresLocks, AnInboxWhoseHeadWasDeletedBeforeTheLockIsNotPruned) {
  ASSERT_TRUE(store->append_to_inbox(callee, message("old"), at(0)).take());
  const auto prune = [&] { return store->prune(at(100), at(100), at(100), 10); };
  EXPECT_EQ(while_waiting(prune, {"DELETE FROM inbox_heads"})->rows, 0);
}

// We make heads with their workspace and never delete them.
TEST_F(PostgresLocks, WithoutItsHeadAnInboxTakesNothing) {
  const FileId id = stage(callee, file("a.txt"));
  open_task("d1");
  auto with_files = done();
  with_files.attachments = {{callee, id, FileId::make(at(0))}};
  outside.query("DELETE FROM inbox_heads");
  EXPECT_ERROR(store->append_to_inbox(callee, message("m"), at(1)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->ack_upload(callee, id, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(callee, id, {}, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->mark_damaged(callee, id, UploadDamage::changed, at(1)).take(), errors::upload_gone);
  EXPECT_THAT(store->sweep_uploads(0s, 10, at(1'000)).take().value().expired, IsEmpty());
  EXPECT_THROW(store->advance_delegation(callee, "d1", done(), at(2)).take(), Unavailable);
  EXPECT_THROW(store->advance_delegation(callee, "d1", with_files, at(2)).take(), Unavailable);
  outside.query("UPDATE workspaces SET status = 'removed'");
  EXPECT_ERROR(store->append_to_inbox(callee, message("m"), at(1)).take(), errors::workspace_not_found);
}

}  // namespace
}  // namespace restante::testing
