// The sweep, and the list of blobs that remain to be dropped after it.
#include <gmock/gmock.h>

#include <set>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class UploadSweeps : public StoreTest {
 protected:
  SweptUploads sweep(Time now, seconds retention = seconds(60), int limit = 500) {
    return store->sweep_uploads(retention, limit, now).take().value();
  }
  FileId stage_acked(WorkspaceId workspace, Time acked_at) {
    const auto id = stage(workspace, file("acked")).upload.id;
    EXPECT_TRUE(store->ack_upload(workspace, id, acked_at).take());
    return id;
  }
  FileId stage_out(WorkspaceId workspace, const NewUpload& item, Time expires_at) {
    auto terms = until(expires_at);
    terms.direction = UploadDirection::out;
    EXPECT_TRUE(store->stage_uploads(workspace, {item}, terms, at(0)).take());
    return item.id;
  }
  // A copy for `to`, as a message makes it.
  FileId send_copy(WorkspaceId owner, FileId source, WorkspaceId to, Time expires_at) {
    const OutgoingFile copy{owner, source, FileId::make(at(0))};
    EXPECT_TRUE(store->append_to_inbox_with_files(to, message("m"), {copy}, until(expires_at), at(0)).take());
    return copy.id;
  }
};
RESTANTE_EVERY_BACKEND(UploadSweeps);

TEST_P(UploadSweeps, NothingDueIsNothingDone) {
  const auto workspace = make_workspace().id;
  stage(workspace, file("a"), at(0), at(10));
  stage_acked(workspace, at(5));
  const auto rows = inbox_of(workspace).size();
  const auto swept = sweep(at(9));
  EXPECT_EQ(swept.acked, 0);
  EXPECT_THAT(swept.expired, IsEmpty());
  EXPECT_FALSE(swept.more);
  EXPECT_EQ(inbox_of(workspace).size(), rows);
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), IsEmpty());
}

TEST_P(UploadSweeps, AckedRowsAreDeletedAfterTheRetentionWithoutAnotherReceipt) {
  const auto workspace = make_workspace().id;
  const auto id = stage_acked(workspace, at(5));
  const auto key = store->find_upload(workspace, id)->blob_key;
  EXPECT_EQ(sweep(at(64)).acked, 0);
  EXPECT_EQ(sweep(at(65)).acked, 1) << "sixty seconds after the ack";
  EXPECT_ERROR(store->find_upload(workspace, id), errors::upload_gone);
  EXPECT_EQ(inbox_of(workspace).size(), 2u);
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), ElementsAre(key));
}

TEST_P(UploadSweeps, ACandidateKeepsItsFirstTimeUntilItIsGone) {
  EXPECT_THAT(store->list_orphan_candidates(), IsEmpty());
  ASSERT_TRUE(store->change_orphan_candidates({{"dir:a", at(1)}, {"dir:b", at(1)}}, {}).take());
  ASSERT_TRUE(store->change_orphan_candidates({{"dir:a", at(9)}, {"dir:c", at(9)}}, {"dir:b", "dir:x"}).take());
  const auto all = store->list_orphan_candidates();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].blob_key, "dir:a");
  EXPECT_EQ(all[0].since, at(1));
  EXPECT_EQ(all[1].blob_key, "dir:c");
  EXPECT_EQ(all[1].since, at(9));
}

TEST_P(UploadSweeps, ARetentionOfZeroDeletesAtOnceAndAnAckedFileNeverExpires) {
  const auto workspace = make_workspace().id;
  stage_acked(workspace, at(5));
  const auto kept = stage(workspace, file("kept"), at(0), at(8)).upload.id;
  ASSERT_TRUE(store->ack_upload(workspace, kept, at(7)).take());
  EXPECT_EQ(sweep(at(6), seconds(0)).acked, 1);
  const auto swept = sweep(at(9), seconds(60));
  EXPECT_EQ(swept.acked, 0);
  EXPECT_THAT(swept.expired, IsEmpty());
  EXPECT_TRUE(store->find_upload(workspace, kept));
}

TEST_P(UploadSweeps, ExpiredRowsAreDeletedWithAReceipt) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt", 7);
  stage(workspace, item, at(0), at(10));
  ASSERT_TRUE(store->mark_fetched(workspace, item.id, at(1)).take());
  const auto swept = sweep(at(10));
  ASSERT_EQ(swept.expired.size(), 1u);
  EXPECT_EQ(swept.expired[0].upload.id, item.id);
  EXPECT_EQ(swept.expired[0].upload.workspace_id, workspace);
  EXPECT_EQ(swept.expired[0].upload.name, "a.txt");
  EXPECT_ERROR(store->find_upload(workspace, item.id), errors::upload_gone);
  EXPECT_ERROR(store->ack_upload(workspace, item.id, at(9)).take(), errors::upload_gone);
  const auto row = inbox_of(workspace).at(1);
  EXPECT_EQ(row.id, swept.expired[0].receipt->id);
  EXPECT_EQ(row.seq, swept.expired[0].receipt->seq);
  EXPECT_EQ(row.activity_type, "upload_receipt");
  EXPECT_EQ(row.method, "chat_upload_expired");
  EXPECT_EQ(row.created_at, at(10));
  EXPECT_EQ(row.request_body, "{\"file_id\":\"" + item.id.text() +
                                  "\",\"name\":\"a.txt\",\"size\":7,\"fetched_at\":\"2026-01-01T00:00:01.000000Z\","
                                  "\"acked_at\":null}");
  EXPECT_THAT(sweep(at(11)).expired, IsEmpty());
}

TEST_P(UploadSweeps, AnExpiredOutgoingFileIsDeletedWithoutAReceipt) {
  const auto workspace = make_workspace().id;
  const auto item = file("out");
  stage_out(workspace, item, at(10));
  const auto swept = sweep(at(10));
  ASSERT_EQ(swept.expired.size(), 1u);
  EXPECT_FALSE(swept.expired[0].receipt);
  EXPECT_THAT(inbox_of(workspace), IsEmpty());
  EXPECT_EQ(store->find_upload_status(workspace, item.id, at(11))->state, UploadState::expired);
}

TEST_P(UploadSweeps, AStepTakesNoMoreThanItsLimitAndReportsThatThereIsMore) {
  const auto first = make_workspace().id;
  const auto second = make_workspace().id;
  for (int i = 0; i < 5; ++i) stage_acked(first, at(1));
  for (int i = 0; i < 5; ++i) stage(i % 2 == 0 ? first : second, file("f"), at(0), at(10 - i));
  auto swept = sweep(at(100), seconds(1), 3);
  EXPECT_EQ(swept.acked, 3);
  EXPECT_TRUE(swept.more);
  swept = sweep(at(100), seconds(1), 3);
  EXPECT_EQ(swept.acked, 2);
  ASSERT_EQ(swept.expired.size(), 1u);
  EXPECT_EQ(swept.expired[0].upload.expires_at, at(6)) << "the longest overdue first";
  EXPECT_TRUE(swept.more);
  EXPECT_EQ(sweep(at(100), seconds(1), 3).expired.size(), 3u);
  swept = sweep(at(100), seconds(1), 3);
  EXPECT_EQ(swept.expired.size(), 1u);
  EXPECT_FALSE(swept.more);
  EXPECT_EQ(sweep(at(100), seconds(1), 0).acked, 0);
  EXPECT_EQ(sweep(at(100), seconds(1), -1).acked, 0);
  EXPECT_EQ(inbox_of(first).size(), 5u * 2 + 3 * 2);
  EXPECT_EQ(inbox_of(second).size(), 2u * 2);
}

TEST_P(UploadSweeps, ARemovedWorkspacesFilesAreSweptToo) {
  const auto workspace = make_workspace().id;
  stage(workspace, file("a"), at(0), at(10));
  remove(workspace);
  EXPECT_EQ(sweep(at(10)).expired.size(), 1u);
  EXPECT_EQ(inbox_of(workspace).size(), 2u);
}

TEST_P(UploadSweeps, ABlobOfSeveralRowsIsDroppedWithTheLastOfThem) {
  const auto owner = make_workspace().id;
  const auto target = make_workspace().id;
  const auto item = file("shared");
  stage_out(owner, item, at(20));
  const auto first = send_copy(owner, item.id, target, at(10));
  const auto second = send_copy(owner, item.id, owner, at(1000));
  EXPECT_EQ(sweep(at(10)).expired.at(0).upload.id, first);
  EXPECT_EQ(sweep(at(20)).expired.at(0).upload.id, item.id);
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), IsEmpty());
  EXPECT_EQ(store->find_upload(owner, second)->blob_key, item.blob_key);
  ASSERT_TRUE(store->recall_upload(owner, second, {}, at(30)).take());
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), ElementsAre(item.blob_key));
}

TEST_P(UploadSweeps, RowsOfOneBlobThatAreDeletedInOneStepDropItOnce) {
  const auto owner = make_workspace().id;
  const auto item = file("shared");
  stage_out(owner, item, at(10));
  for (int i = 0; i < 3; ++i) send_copy(owner, item.id, make_workspace().id, at(10));
  EXPECT_EQ(sweep(at(10)).expired.size(), 4u);
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), ElementsAre(item.blob_key));
}

TEST_P(UploadSweeps, ContentInARowIsDeletedWithItAndNotWithItsCopies) {
  const auto owner = make_workspace().id;
  const auto target = make_workspace().id;
  const auto item = small_file("small", "content");
  stage_out(owner, item, at(10));
  const auto copy = send_copy(owner, item.id, target, at(20));
  EXPECT_EQ(sweep(at(10)).expired.at(0).upload.id, item.id);
  // The next row must not get its content.
  const auto other = small_file("other", "else");
  stage(owner, other, at(0), at(1000));
  EXPECT_EQ(store->read_upload(target, copy)->content, "content");
  EXPECT_EQ(sweep(at(20)).expired.at(0).upload.id, copy);
  EXPECT_EQ(store->read_upload(owner, other.id)->content, "else");
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), IsEmpty());
}

TEST_P(UploadSweeps, DroppedBlobsAreListedUntilTheyAreForgotten) {
  const auto workspace = make_workspace().id;
  std::set<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    const auto item = file("f");
    keys.insert(item.blob_key);
    stage(workspace, item, at(0), at(10));
  }
  sweep(at(10));
  reopen();
  const auto first = store->list_dropped_blobs(3, at(0), "");
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(store->list_dropped_blobs(3, at(0), ""), first);
  ASSERT_TRUE(store->forget_dropped_blobs(first).take());
  const auto rest = store->list_dropped_blobs(3, at(0), "");
  EXPECT_EQ(rest.size(), 2u);
  std::set<std::string> all(first.begin(), first.end());
  all.insert(rest.begin(), rest.end());
  EXPECT_EQ(all, keys);
  EXPECT_TRUE(store->forget_dropped_blobs(first).take()) << "keys that are forgotten already are accepted";
  EXPECT_TRUE(store->forget_dropped_blobs({}).take());
  ASSERT_TRUE(store->forget_dropped_blobs(rest).take());
  EXPECT_THAT(store->list_dropped_blobs(3, at(0), ""), IsEmpty());
  EXPECT_THAT(store->list_dropped_blobs(-1, at(0), ""), IsEmpty());
}

TEST_P(UploadSweeps, KnownAreBlobsThatARowNeedsOrThatAreAboutToBeDropped) {
  const auto workspace = make_workspace().id;
  const auto waiting = file("waiting");
  const auto acked = file("acked");
  const auto swept = file("swept");
  const auto forgotten = file("forgotten");
  stage(workspace, waiting);
  stage(workspace, acked);
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(1)).take());
  stage(workspace, forgotten, at(0), at(5));
  sweep(at(5));
  ASSERT_TRUE(store->forget_dropped_blobs({forgotten.blob_key}).take());
  stage(workspace, swept, at(0), at(6));
  sweep(at(6));
  const std::vector<std::string> asked{"orphan",         swept.blob_key, forgotten.blob_key,
                                       waiting.blob_key, acked.blob_key, ""};
  EXPECT_THAT(store->known_blobs(asked), ElementsAre(swept.blob_key, waiting.blob_key, acked.blob_key));
  EXPECT_THAT(store->known_blobs({}), IsEmpty());
}

TEST_P(UploadSweeps, SweepingBesideStagingLosesNothingAndCountsEveryFileOnce) {
  const auto workspace = make_workspace().id;
  std::vector<Commit<Result<std::vector<StagedUpload>>>> stagings;
  std::vector<Commit<Result<SweptUploads>>> sweeps;
  for (int i = 0; i < 200; ++i) {
    // Every second one is due when it is staged.
    stagings.push_back(store->stage_uploads(workspace, {file("f")}, until(at(i % 2 == 0 ? 0 : 1000)), at(0)));
    if (i % 10 == 0) sweeps.push_back(store->sweep_uploads(seconds(60), 7, at(0)));
  }
  for (auto& staging : stagings) EXPECT_TRUE(staging.take());
  std::set<FileId> expired;
  const auto take = [&](const SweptUploads& swept) {
    for (const auto& change : swept.expired) EXPECT_TRUE(expired.insert(change.upload.id).second);
  };
  for (auto& swept : sweeps) take(swept.take().value());
  for (bool more = true; more;) {
    const auto swept = sweep(at(0), seconds(60), 7);
    take(swept);
    more = swept.more;
  }
  EXPECT_EQ(expired.size(), 100u);
  EXPECT_EQ(store->list_waiting(workspace, {}, 1000, at(0)).size(), 100u);
  EXPECT_EQ(inbox_of(workspace).size(), 300u);
  EXPECT_EQ(store->upload_stats(at(0)).total.never_fetched, (UploadTally{100, 500}));
}

}  // namespace
}  // namespace restante::testing
