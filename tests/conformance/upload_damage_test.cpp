// Blobs whose content has changed or is missing: the mark, the receipts, and what works as before.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UploadDamages : public StoreTest {
 protected:
  std::vector<UploadChange> damage(WorkspaceId workspace, FileId id, UploadDamage how = UploadDamage::changed,
                                   Time now = at(5)) {
    auto marked = store->mark_damaged(workspace, id, how, now).take();
    EXPECT_TRUE(marked) << marked.error().code();
    return marked ? *marked : std::vector<UploadChange>();
  }
  std::vector<std::string> receipts(WorkspaceId workspace) {
    std::vector<std::string> all;
    for (const auto& row : inbox_of(workspace)) {
      if (row.activity_type == "upload_receipt") all.push_back(row.method);
    }
    return all;
  }
  UploadTally damaged() { return store->upload_stats(at(5)).total.damaged; }
  std::vector<FileId> listed() {
    UploadFilter filter;
    filter.group = UploadGroup::damaged;
    std::vector<FileId> ids;
    for (const auto& upload : store->list_uploads(filter, at(5))) ids.push_back(upload.id);
    return ids;
  }
};
RESTANTE_EVERY_BACKEND(UploadDamages);

TEST_P(UploadDamages, AWaitingFileFailsAndItsSenderGetsAReceiptWithTheReason) {
  for (const auto how : {UploadDamage::changed, UploadDamage::missing}) {
    const auto workspace = make_workspace().id;
    const auto item = how == UploadDamage::changed ? file("a.pdf", 7) : small_file("a.pdf", "content");
    stage(workspace, item);
    const auto marked = damage(workspace, item.id, how);
    ASSERT_EQ(marked.size(), 1u);
    EXPECT_EQ(marked[0].upload.damage, how);
    EXPECT_EQ(marked[0].upload.failed_at, at(5));
    EXPECT_EQ(marked[0].upload.reason, sentence_of(how));
    const auto rows = inbox_of(workspace);
    ASSERT_EQ(rows.size(), 2u);
    ASSERT_TRUE(marked[0].receipt);
    EXPECT_EQ(marked[0].receipt->seq, rows[1].seq);
    EXPECT_EQ(rows[1].activity_type, "upload_receipt");
    EXPECT_EQ(rows[1].method, "chat_upload_failed");
    EXPECT_THAT(rows[1].request_body, HasSubstr("\"reason\":\"" + std::string(sentence_of(how)) + "\""));
    EXPECT_EQ(store->find_upload_status(workspace, item.id, at(6))->state, UploadState::failed);
  }
}

TEST_P(UploadDamages, TheMarkIsDurableAndFoundByEveryRead) {
  const auto workspace = make_workspace().id;
  const auto sound = file("sound", 5);
  const auto item = file("damaged", 7);
  stage(workspace, sound);
  stage(workspace, item);
  EXPECT_EQ(damaged(), UploadTally());
  EXPECT_THAT(listed(), IsEmpty());
  damage(workspace, item.id);
  reopen();
  EXPECT_EQ(store->find_upload(workspace, item.id)->damage, UploadDamage::changed);
  EXPECT_EQ(store->read_upload(workspace, item.id)->damage, UploadDamage::changed);
  EXPECT_EQ(store->find_upload_status(workspace, item.id, at(6))->upload.damage, UploadDamage::changed);
  EXPECT_EQ(store->list_waiting(workspace, {}, 10, at(6)).at(1).damage, UploadDamage::changed) << "it is still listed";
  EXPECT_FALSE(store->find_upload(workspace, sound.id)->damage);
  EXPECT_EQ(damaged(), (UploadTally{1, 7}));
  EXPECT_EQ(store->upload_stats(at(5)).workspaces.at(0).second.damaged, (UploadTally{1, 7}));
  EXPECT_EQ(store->upload_stats(at(5)).total.failed, (UploadTally{1, 7})) << "it also counts as failed";
  EXPECT_EQ(listed(), std::vector<FileId>{item.id});
}

TEST_P(UploadDamages, ASecondFindingChangesNothing) {
  const auto workspace = make_workspace().id;
  const auto item = file("a");
  stage(workspace, item);
  EXPECT_EQ(damage(workspace, item.id).size(), 1u);
  EXPECT_THAT(damage(workspace, item.id, UploadDamage::missing, at(9)), IsEmpty());
  const auto found = store->find_upload(workspace, item.id);
  EXPECT_EQ(found->damage, UploadDamage::changed);
  EXPECT_EQ(found->failed_at, at(5));
  EXPECT_EQ(receipts(workspace), std::vector<std::string>{"chat_upload_failed"});
}

TEST_P(UploadDamages, DamageReplacesTheAgentsReasonAndNoLaterReasonReplacesIt) {
  const auto workspace = make_workspace().id;
  const auto item = file("a");
  stage(workspace, item);
  ASSERT_TRUE(store->fail_upload(workspace, item.id, "sha256 differs", at(1)).take());
  EXPECT_TRUE(damage(workspace, item.id).at(0).receipt);
  const auto again = store->fail_upload(workspace, item.id, "still differs", at(6)).take();
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->receipt);
  EXPECT_EQ(store->find_upload(workspace, item.id)->reason, sentence_of(UploadDamage::changed));
  EXPECT_EQ(receipts(workspace), (std::vector<std::string>{"chat_upload_failed", "chat_upload_failed"}));
  EXPECT_EQ(store->upload_stats(at(6)).total.failed.files, 1);
}

TEST_P(UploadDamages, AnAbsentFileAndAFileOfAnotherWorkspaceAreGone) {
  const auto workspace = make_workspace().id;
  const auto other = make_workspace().id;
  const auto item = file("a");
  stage(workspace, item);
  EXPECT_ERROR(store->mark_damaged(other, item.id, UploadDamage::changed, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->mark_damaged(workspace, FileId::make(at(0)), UploadDamage::changed, at(1)).take(),
               errors::upload_gone);
  EXPECT_FALSE(store->find_upload(workspace, item.id)->damage);
  EXPECT_THAT(receipts(workspace), IsEmpty());
}

TEST_P(UploadDamages, AFileThatNoAgentWaitsForGetsNoReceipt) {
  const auto workspace = make_workspace().id;
  const auto acked = file("acked");
  const auto expired = file("expired");
  const auto outgoing = file("outgoing");
  stage(workspace, acked);
  stage(workspace, expired, at(0), at(3));
  auto out = until(at(1000));
  out.direction = UploadDirection::out;
  ASSERT_TRUE(store->stage_uploads(workspace, {outgoing}, out, at(0)).take());
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(1)).take());
  for (const auto id : {acked.id, expired.id, outgoing.id}) {
    const auto marked = damage(workspace, id);
    ASSERT_EQ(marked.size(), 1u);
    EXPECT_FALSE(marked[0].receipt);
    EXPECT_FALSE(marked[0].upload.failed_at);
    EXPECT_TRUE(store->find_upload(workspace, id)->damage);
  }
  EXPECT_EQ(receipts(workspace), std::vector<std::string>{"chat_upload_acked"});
  EXPECT_EQ(damaged().files, 3);
}

TEST_P(UploadDamages, AllRowsOfABlobAreMarkedAndNoOthers) {
  const auto from = make_workspace("from").id;
  const auto one = make_workspace("one").id;
  const auto two = make_workspace("two").id;
  auto out = until(at(1000));
  out.direction = UploadDirection::out;
  const auto source = file("shared", 9);
  ASSERT_TRUE(store->stage_uploads(from, {source, file("other", 4)}, out, at(0)).take());
  const auto first = FileId::make(at(1));
  const auto second = FileId::make(at(2));
  ASSERT_TRUE(store->append_to_inbox_with_files(two, message("m"), {{from, source.id, second}}, out, at(1)).take());
  ASSERT_TRUE(store->append_to_inbox_with_files(one, message("m"), {{from, source.id, first}}, out, at(1)).take());
  const auto marked = damage(one, first);
  std::vector<FileId> ids;
  for (const auto& change : marked) ids.push_back(change.upload.id);
  EXPECT_EQ(ids, (std::vector<FileId>{source.id, first, second})) << "by id";
  EXPECT_FALSE(marked[0].receipt);
  EXPECT_EQ(receipts(one), std::vector<std::string>{"chat_upload_failed"});
  EXPECT_EQ(receipts(two), std::vector<std::string>{"chat_upload_failed"});
  EXPECT_EQ(damaged(), (UploadTally{3, 27}));
  EXPECT_THAT(damage(two, second), IsEmpty());
}

TEST_P(UploadDamages, ADamagedFileCannotBeSentOn) {
  const auto from = make_workspace("from").id;
  const auto target = make_workspace("target").id;
  auto out = until(at(1000));
  out.direction = UploadDirection::out;
  const auto source = file("a");
  ASSERT_TRUE(store->stage_uploads(from, {source}, out, at(0)).take());
  damage(from, source.id, UploadDamage::missing);
  const OutgoingFile copy{from, source.id, FileId::make(at(1))};
  const auto sent = store->append_to_inbox_with_files(target, message("m"), {copy}, out, at(6)).take();
  EXPECT_ERROR(sent, errors::attachment_gone);
  EXPECT_EQ(sent.error().sentence(), sentence_of(UploadDamage::missing));
  EXPECT_THAT(inbox_of(target), IsEmpty());
}

TEST_P(UploadDamages, AckRecallAndSweepWorkAsBeforeAndTheFinishedUploadKeepsTheMark) {
  const auto workspace = make_workspace().id;
  const auto acked = file("acked");
  const auto recalled = small_file("recalled", "x");
  const auto expired = file("expired");
  stage(workspace, acked);
  stage(workspace, recalled);
  stage(workspace, expired, at(0), at(20));
  for (const auto id : {acked.id, recalled.id, expired.id}) damage(workspace, id);
  // The agent may have read the right content before.
  EXPECT_TRUE(store->ack_upload(workspace, acked.id, at(6)).take()->receipt);
  EXPECT_EQ(store->find_upload(workspace, acked.id)->state(at(6)), UploadState::acked);
  EXPECT_TRUE(store->recall_upload(workspace, recalled.id, {}, at(6)).take());
  const auto swept = store->sweep_uploads(std::chrono::seconds(1), 10, at(20)).take();
  EXPECT_EQ(swept->acked, 1);
  EXPECT_EQ(swept->expired.size(), 1u);
  for (const auto id : {acked.id, recalled.id, expired.id}) {
    EXPECT_ERROR(store->find_upload(workspace, id), errors::upload_gone);
    EXPECT_EQ(store->find_upload_status(workspace, id, at(20))->upload.damage, UploadDamage::changed);
  }
  EXPECT_EQ(store->find_upload_status(workspace, expired.id, at(20))->upload.reason,
            sentence_of(UploadDamage::changed));
  EXPECT_EQ(damaged(), UploadTally());
  EXPECT_EQ(store->list_dropped_blobs(10, at(0), "").size(), 2u) << "their blobs are dropped like any others";
}

TEST_P(UploadDamages, AWalkReadsEveryRowOnceByItsId) {
  const auto workspace = make_workspace().id;
  const auto other = make_workspace().id;
  std::vector<FileId> ids;
  for (int i = 0; i < 7; ++i) {
    const auto item = i % 2 == 0 ? file("f") : small_file("f", "content");
    ids.push_back(item.id);
    stage(i % 3 == 0 ? other : workspace, item, at(0), i == 5 ? at(1) : at(1000));
  }
  ASSERT_TRUE(store->ack_upload(workspace, ids[1], at(0)).take());
  damage(workspace, ids[2]);
  std::ranges::sort(ids);
  std::vector<FileId> walked;
  std::optional<FileId> after;
  for (auto page = store->walk_uploads({}, 3); !page.empty(); page = store->walk_uploads(after, 3)) {
    EXPECT_LE(page.size(), 3u);
    for (const auto& upload : page) walked.push_back(upload.id);
    after = walked.back();
  }
  EXPECT_EQ(walked, ids);
  // The upload that the cursor names may have been deleted.
  const auto row = store->walk_uploads({}, 1).at(0);
  ASSERT_EQ(store->find_upload(row.workspace_id, row.id)->id, ids[0]);
  (void)store->ack_upload(row.workspace_id, row.id, at(0)).take();
  ASSERT_TRUE(store->sweep_uploads(std::chrono::seconds(0), 100, at(0)).take());
  EXPECT_ERROR(store->find_upload(row.workspace_id, row.id), errors::upload_gone);
  EXPECT_GT(store->walk_uploads(row.id, 1).at(0).id, row.id);
  EXPECT_THAT(store->walk_uploads(ids.back(), 10), IsEmpty());
  EXPECT_THAT(store->walk_uploads({}, 0), IsEmpty());
}

}  // namespace
}  // namespace restante::testing
