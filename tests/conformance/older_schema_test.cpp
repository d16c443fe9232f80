// A server that is started without migrating: on a schema from before uploads its verbs answer as UploadStore promises;
// on a later schema that is not complete it does not start.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"
#include "store/migration.h"

namespace restante::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class OlderSchema : public StoreTest {
 protected:
  void open_before(const std::string& migration) {
    store.reset();
    store = backend->open_before(migration);
    EXPECT_THAT([&] { store->check(); }, ThrowsMessage<Unavailable>(HasSubstr(migration)));
  }
  static NewDelegation task(WorkspaceId caller, WorkspaceId callee) {
    NewDelegation wanted;
    wanted.id = "task";
    wanted.caller_id = caller;
    wanted.callee_id = callee;
    wanted.task = "do it";
    wanted.deadline = at(100);
    return wanted;
  }
};

RESTANTE_EVERY_BACKEND(OlderSchema);

TEST_P(OlderSchema, WithoutTheTablesOfUploadsEverythingElseWorksAndNothingIsStaged) {
  open_before("uploads");
  EXPECT_FALSE(store->uploads_ready());
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt");
  const Claim claim{sha256("scope"), sha256("request"), at(99)};
  EXPECT_ERROR(store->stage_uploads(workspace, {item}, until(at(1)), at(0)).take(), errors::no_callback);
  const ClaimedAnswer<std::vector<StagedUpload>> staged_once{claim, [](auto&) { return ""; }};
  EXPECT_ERROR(store->stage_uploads(workspace, {item}, until(at(1)), at(0), staged_once).take(), errors::no_callback);
  EXPECT_TRUE(store->stage_uploads(workspace, {}, until(at(1)), at(0)).take()->empty());
  EXPECT_ERROR(store->find_upload(workspace, item.id), errors::upload_gone);
  EXPECT_ERROR(store->read_upload(workspace, item.id), errors::upload_gone);
  EXPECT_ERROR(store->find_upload_status(workspace, item.id, at(0)), errors::upload_gone);
  EXPECT_FALSE(store->find_outgoing(workspace, item.sha256, at(0)));
  EXPECT_ERROR(store->mark_fetched(workspace, item.id, at(0)).take(), errors::upload_gone);
  EXPECT_ERROR(store->ack_upload(workspace, item.id, at(0)).take(), errors::upload_gone);
  EXPECT_ERROR(store->fail_upload(workspace, item.id, "x", at(0)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(workspace, item.id, {}, at(0)).take(), errors::upload_gone);
  EXPECT_ERROR(store->mark_damaged(workspace, item.id, UploadDamage::changed, at(0)).take(), errors::upload_gone);
  EXPECT_TRUE(store->walk_uploads({}, 10).empty());
  EXPECT_TRUE(store->list_waiting(workspace, {}, 10, at(0)).empty());
  EXPECT_TRUE(store->list_uploads({}, at(0)).empty());
  EXPECT_TRUE(store->upload_stats(at(0)).workspaces.empty());
  EXPECT_FALSE(store->sweep_uploads(std::chrono::seconds(0), 10, at(0)).take()->more);
  EXPECT_TRUE(store->list_dropped_blobs(10, at(0), "").empty());
  EXPECT_TRUE(store->forget_dropped_blobs({"key"}).take());
  const std::vector<std::string> keys{"key"};
  EXPECT_EQ(store->known_blobs(keys), keys) << "no blob can be recognised as an orphan";
  const OutgoingFile outgoing{workspace, item.id, FileId::make(at(0))};
  EXPECT_ERROR(store->append_to_inbox_with_files(workspace, message("m"), {outgoing}, until(at(1)), at(0)).take(),
               errors::attachment_gone);
  const ClaimedAnswer<SentMessage> sent_once{claim, [](auto&) { return ""; }};
  EXPECT_ERROR(
      store->append_to_inbox_with_files(workspace, message("m"), {outgoing}, until(at(1)), at(0), sent_once).take(),
      errors::attachment_gone);
  EXPECT_EQ(store->append_to_inbox_with_files(workspace, message("m"), {}, until(at(1)), at(0)).take()->row.seq, 1);
  const auto sent =
      store->append_to_inbox_with_files(workspace, message("m", "id"), {}, until(at(1)), at(0), sent_once).take();
  EXPECT_EQ(sent->row.seq, 2);
  EXPECT_TRUE(store->append_to_inbox(workspace, message("m", "id"), at(0)).take()->repeated);
  ASSERT_TRUE(store->ack_inbox(workspace, 2).take());
  EXPECT_EQ(store->prune(at(10), at(10), at(10), 100).take()->rows, 2);
}

TEST_P(OlderSchema, WithoutTheTablesOfUploadsVerbsOfNewerTablesAreUnavailable) {
  open_before("uploads");
  const auto caller = make_workspace().id;
  const auto callee = make_workspace().id;
  const Claim claim{sha256("scope"), sha256("request"), at(99)};
  EXPECT_THROW((void)store->open_delegation(task(caller, callee), at(1)).take(), Unavailable);
  const ClaimedAnswer<OpenedDelegation> once{claim, [](auto&) { return ""; }};
  EXPECT_THROW((void)store->open_delegation(task(caller, callee), at(1), once).take(), Unavailable);
  EXPECT_THROW((void)store->advance_delegation(callee, "task", {}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->beat_delegation(callee, "task", {}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->deliver_delegation("task", at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->pick_up_delegations({callee}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->sweep_delegations(at(1), at(1), 10, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->find_delegation("task"), Unavailable);
  EXPECT_THROW((void)store->read_delegation("task"), Unavailable);
  EXPECT_THROW((void)store->list_delegations({}), Unavailable);
  EXPECT_THROW((void)store->delegation_stats(), Unavailable);
  EXPECT_THROW((void)store->delegation_waits({}), Unavailable);

  EXPECT_THROW((void)store->find_blob_move(), Unavailable);
  EXPECT_THROW((void)store->begin_blob_move(Place::dir, Place::s3, 0, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->advance_blob_move({}, BlobPhase::finished, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->take_blob_move_lease(WorkerId::make(at(0)), at(2), at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->list_blobs(KeyRole::first, Place::dir, "", 10), Unavailable);
  EXPECT_THROW((void)store->change_blob_keys({{{"a", ""}, {"b", ""}}}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->count_blobs(), Unavailable);

  EXPECT_THROW((void)store->find_installation(), Unavailable);
  EXPECT_THROW((void)store->ensure_installation(InstallationId(), Place::dir).take(), Unavailable);
  EXPECT_THROW((void)store->record_mark(Place::dir, std::nullopt, {}).take(), Unavailable);
  EXPECT_THROW((void)store->reset_installation().take(), Unavailable);

  EXPECT_THROW((void)store->find_blob_check(), Unavailable);
  const NewBlobCheck wanted{false, WorkerId::make(at(0)), at(9), "{}", "[]", {}};
  EXPECT_THROW((void)store->begin_blob_check(wanted, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->update_blob_check({}).take(), Unavailable);

  EXPECT_THAT([&] { store->require_uploads(); }, ThrowsMessage<Unavailable>(HasSubstr("restante migrate up")));
  EXPECT_EQ(append(callee, message("m")).seq, 1) << "everything else works";
}

TEST_P(OlderSchema, ASchemaThatHasUploadsAndIsNotCompleteIsRefusedWithTheCommandThatMigrates) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt");
  stage(workspace, item);
  store.reset();
  for (const char* migration :
       {"clock_and_orphans", "blob_checks", "owners", "places", "delegation_counts", "delegations", "upload_damage"}) {
    EXPECT_THAT([&] { backend->open_before(migration); },
                ThrowsMessage<OpenRefused>(AllOf(HasSubstr(migration), HasSubstr("restante migrate up"))));
  }
  store = backend->open();
  EXPECT_NO_THROW(store->require_uploads());
  EXPECT_NO_THROW(store->check());
  EXPECT_TRUE(store->ack_upload(workspace, item.id, at(1)).take()) << "nothing was lost";
}

}  // namespace
}  // namespace restante::testing
