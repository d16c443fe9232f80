// A server on an older schema, started without migrating: verbs without tables answer as Store promises, and everything
// else works.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

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
  EXPECT_EQ(store->prune(at(10), at(10), at(10), 100).take().value(), 2);
}

TEST_P(OlderSchema, WithoutTheTablesOfDelegationsTheyAreUnavailableAndEverythingElseWorks) {
  open_before("delegations");
  EXPECT_FALSE(store->delegations_ready());
  EXPECT_TRUE(store->uploads_ready());
  const auto caller = make_workspace().id;
  const auto callee = make_workspace().id;
  const Claim claim{sha256("scope"), sha256("request"), at(99)};
  EXPECT_THROW((void)store->open_delegation(task(caller, callee), at(1)).take(), Unavailable);
  const ClaimedAnswer<OpenedDelegation> once{claim, [](auto&) { return ""; }};
  EXPECT_THROW((void)store->open_delegation(task(caller, callee), at(1), once).take(), Unavailable);
  EXPECT_THROW((void)store->advance_delegation(callee, "task", {}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->beat_delegation(callee, "task", {}, at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->deliver_delegation("task", at(1)).take(), Unavailable);
  EXPECT_THROW((void)store->find_delegation("task"), Unavailable);
  EXPECT_THROW((void)store->read_delegation("task"), Unavailable);
  EXPECT_THROW((void)store->list_delegations({}), Unavailable);
  EXPECT_THROW((void)store->delegation_stats(), Unavailable);
  EXPECT_THROW((void)store->delegation_waits({}), Unavailable);
  // Background verbs find nothing to do.
  EXPECT_TRUE(store->pick_up_delegations({callee}, at(1)).take()->empty());
  EXPECT_FALSE(store->sweep_delegations(at(1), at(1), 10, at(1)).take()->more);
  EXPECT_EQ(append(callee, message("m")).seq, 1);
  ASSERT_TRUE(store->ack_inbox(callee, 1).take());
  EXPECT_EQ(store->prune(at(10), at(10), at(10), 100).take().value(), 1);
}

TEST_P(OlderSchema, WithoutTheTableOfChecksThereIsNoneAndNoneBegins) {
  open_before("blob_checks");
  EXPECT_FALSE(store->find_blob_check());
  const NewBlobCheck wanted{false, WorkerId::make(at(0)), at(9), "{}", "[]", {}};
  EXPECT_THROW((void)store->begin_blob_check(wanted, at(1)).take(), Unavailable);
  EXPECT_FALSE(store->update_blob_check({}).take().value());
  stage(make_workspace().id, file("a.txt"));
}

}  // namespace
}  // namespace restante::testing
