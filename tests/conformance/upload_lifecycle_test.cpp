// What happens to a file besides an ack: failure and recall, their receipts, and its status afterwards.
#include <gmock/gmock.h>

#include <thread>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::IsEmpty;

class UploadLifecycle : public StoreTest {
 protected:
  std::vector<std::string> methods(WorkspaceId workspace) {
    std::vector<std::string> all;
    for (const auto& row : inbox_of(workspace)) all.push_back(row.method);
    return all;
  }
  UploadState state(WorkspaceId workspace, FileId id, Time now) {
    return store->find_upload_status(workspace, id, now)->state;
  }
};
RESTANTE_EVERY_BACKEND(UploadLifecycle);

TEST_P(UploadLifecycle, AFailureIsKeptWithItsReasonAndTheSenderGetsAReceipt) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt", 7)).upload.id;
  ASSERT_TRUE(store->mark_fetched(workspace, id, at(1)).take());
  const auto failed = store->fail_upload(workspace, id, "disk \"full\" ✗", at(2)).take().value();
  EXPECT_EQ(failed.upload.failed_at, at(2));
  EXPECT_EQ(failed.upload.reason, "disk \"full\" ✗");
  reopen();
  const auto upload = store->find_upload(workspace, id).value();
  EXPECT_EQ(upload.failed_at, at(2));
  EXPECT_EQ(upload.reason, "disk \"full\" ✗");
  EXPECT_EQ(upload.state(at(3)), UploadState::failed);
  const auto row = inbox_of(workspace).at(1);
  ASSERT_TRUE(failed.receipt);
  EXPECT_EQ(row.id, failed.receipt->id);
  EXPECT_EQ(row.seq, failed.receipt->seq);
  EXPECT_EQ(row.activity_type, "upload_receipt");
  EXPECT_EQ(row.method, "chat_upload_failed");
  EXPECT_EQ(row.summary, "chat_upload_failed: a.txt");
  EXPECT_EQ(row.target_id, workspace);
  EXPECT_EQ(row.request_body, "{\"file_id\":\"" + id.text() +
                                  "\",\"name\":\"a.txt\",\"size\":7,\"fetched_at\":\"2026-01-01T00:00:01.000000Z\","
                                  "\"acked_at\":null,\"reason\":\"disk \\\"full\\\" ✗\"}");
}

TEST_P(UploadLifecycle, TheSameReasonAgainChangesNothingAnotherAppendsAReceipt) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  ASSERT_TRUE(store->fail_upload(workspace, id, "one", at(1)).take()->receipt);
  const auto again = store->fail_upload(workspace, id, "one", at(2)).take().value();
  EXPECT_FALSE(again.receipt);
  EXPECT_EQ(again.upload.failed_at, at(1));
  const auto other = store->fail_upload(workspace, id, "two", at(3)).take().value();
  EXPECT_TRUE(other.receipt);
  EXPECT_EQ(other.upload.failed_at, at(3));
  EXPECT_EQ(store->find_upload(workspace, id)->reason, "two");
  const auto none = store->fail_upload(workspace, id, "", at(3)).take().value();
  EXPECT_FALSE(none.receipt) << "an empty reason is not another reason";
  EXPECT_EQ(none.upload.reason, "two");
  EXPECT_TRUE(store->fail_upload(workspace, id, "one", at(4)).take()->receipt) << "the last one counts";
  EXPECT_EQ(inbox_of(workspace).size(), 4u);
}

TEST_P(UploadLifecycle, EverNewReasonsChangeTheReasonAndAppendFewReceipts) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  ASSERT_TRUE(store->fail_upload(workspace, id, "one", at(30)).take()->receipt);
  const auto soon = store->fail_upload(workspace, id, "two", at(39)).take().value();
  EXPECT_FALSE(soon.receipt);
  EXPECT_EQ(soon.upload.reason, "two");
  EXPECT_EQ(soon.upload.failed_at, at(30)) << "the time of the last receipt";
  EXPECT_EQ(store->find_upload(workspace, id)->reason, "two");
  EXPECT_TRUE(store->fail_upload(workspace, id, "three", at(40)).take()->receipt) << "a third of its age later";
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(store->fail_upload(workspace, id, std::to_string(i), at(41)).take()->receipt);
  }
  EXPECT_EQ(inbox_of(workspace).size(), 3u) << "the file and two receipts";
  const UploadStats stats = store->upload_stats(at(42)).total;
  EXPECT_EQ(stats.failed.files, 1);
}

TEST_P(UploadLifecycle, AFailureMayHaveAnEmptyReason) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  EXPECT_TRUE(store->fail_upload(workspace, id, "", at(1)).take()->receipt);
  EXPECT_FALSE(store->fail_upload(workspace, id, "", at(2)).take()->receipt);
  EXPECT_EQ(store->find_upload(workspace, id)->failed_at, at(1));
  EXPECT_NE(inbox_of(workspace).at(1).request_body.find("\"reason\":\"\""), std::string::npos);
  EXPECT_TRUE(store->fail_upload(workspace, id, "and why", at(3)).take()->receipt);
}

TEST_P(UploadLifecycle, ALongReasonIsCutOnACharacterAndCountsAsTheSame) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  const std::string kept(kMaxReasonBytes - 1, 'x');
  ASSERT_TRUE(store->fail_upload(workspace, id, kept + "é and more", at(1)).take());
  EXPECT_EQ(store->find_upload(workspace, id)->reason, kept);
  EXPECT_FALSE(store->fail_upload(workspace, id, kept + "é and less", at(2)).take()->receipt);
}

TEST_P(UploadLifecycle, AFailedFileKeepsWaitingAndALaterAckWins) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  ASSERT_TRUE(store->fail_upload(workspace, id, "later", at(1)).take());
  EXPECT_EQ(store->list_waiting(workspace, {}, 10, at(2)).size(), 1u);
  ASSERT_TRUE(store->mark_fetched(workspace, id, at(2)).take());
  EXPECT_EQ(state(workspace, id, at(2)), UploadState::failed);
  EXPECT_EQ(store->ack_upload(workspace, id, at(3)).take()->upload.acked_at, at(3));
  EXPECT_EQ(state(workspace, id, at(3)), UploadState::acked);
  EXPECT_EQ(inbox_of(workspace).back().request_body.find("reason"), std::string::npos);
}

TEST_P(UploadLifecycle, AnAckedExpiredAbsentOrForeignFileCannotFail) {
  const auto workspace = make_workspace().id;
  const auto other_workspace = make_workspace().id;
  const auto acked = stage(workspace, file("a.txt")).upload.id;
  ASSERT_TRUE(store->ack_upload(workspace, acked, at(1)).take());
  const auto expired = stage(workspace, file("b.txt"), at(0), at(5)).upload.id;
  const auto other = stage(workspace, file("c.txt")).upload.id;
  const auto rows = inbox_of(workspace).size();
  EXPECT_ERROR(store->fail_upload(workspace, acked, "x", at(6)).take(), errors::upload_gone);
  EXPECT_ERROR(store->fail_upload(workspace, expired, "x", at(5)).take(), errors::upload_gone);
  EXPECT_ERROR(store->fail_upload(workspace, FileId::make(at(0)), "x", at(6)).take(), errors::upload_gone);
  EXPECT_ERROR(store->fail_upload(other_workspace, other, "x", at(6)).take(), errors::upload_gone);
  EXPECT_EQ(inbox_of(workspace).size(), rows);
}

TEST_P(UploadLifecycle, ARecalledFileIsGoneAndItsBlobIsListedToBeDropped) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt", 7);
  stage(workspace, item);
  ASSERT_TRUE(store->mark_fetched(workspace, item.id, at(1)).take());
  const auto recalled = store->recall_upload(workspace, item.id, {}, at(2)).take().value();
  EXPECT_EQ(recalled.upload.name, "a.txt");
  reopen();
  EXPECT_ERROR(store->find_upload(workspace, item.id), errors::upload_gone);
  EXPECT_ERROR(store->read_upload(workspace, item.id), errors::upload_gone);
  EXPECT_ERROR(store->ack_upload(workspace, item.id, at(3)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(workspace, item.id, {}, at(3)).take(), errors::upload_gone);
  EXPECT_THAT(store->list_waiting(workspace, {}, 10, at(3)), IsEmpty());
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), ::testing::ElementsAre(item.blob_key));
  const auto row = inbox_of(workspace).at(1);
  EXPECT_EQ(row.seq, recalled.receipt->seq);
  EXPECT_EQ(row.activity_type, "upload_receipt");
  EXPECT_EQ(row.method, "chat_upload_recalled");
  EXPECT_EQ(row.request_body, "{\"file_id\":\"" + item.id.text() +
                                  "\",\"name\":\"a.txt\",\"size\":7,\"fetched_at\":\"2026-01-01T00:00:01.000000Z\","
                                  "\"acked_at\":null}");
}

TEST_P(UploadLifecycle, OnlyTheStagingTokenOrAnAdminMayRecall) {
  const auto workspace = make_workspace().id;
  const auto sender = TokenId::make(at(0));
  auto terms = until(at(99));
  terms.staged_by = sender;
  const auto own = file("own");
  const auto also_own = file("also_own");
  const auto unowned = file("nobodys");
  ASSERT_TRUE(store->stage_uploads(workspace, {own, also_own}, terms, at(0)).take());
  stage(workspace, unowned);
  EXPECT_ERROR(store->recall_upload(workspace, own.id, TokenId::make(at(0)), at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(workspace, unowned.id, sender, at(1)).take(), errors::upload_gone);
  EXPECT_TRUE(store->recall_upload(workspace, own.id, sender, at(1)).take());
  EXPECT_TRUE(store->recall_upload(workspace, also_own.id, {}, at(1)).take());
  EXPECT_TRUE(store->recall_upload(workspace, unowned.id, {}, at(1)).take());
}

TEST_P(UploadLifecycle, AnAckedFileCannotBeRecalled) {
  const auto workspace = make_workspace().id;
  const auto sender = TokenId::make(at(0));
  auto terms = until(at(99));
  terms.staged_by = sender;
  const auto item = file("a.txt");
  ASSERT_TRUE(store->stage_uploads(workspace, {item}, terms, at(0)).take());
  ASSERT_TRUE(store->ack_upload(workspace, item.id, at(1)).take());
  EXPECT_ERROR(store->recall_upload(workspace, item.id, sender, at(2)).take(), errors::upload_already_acked);
  EXPECT_ERROR(store->recall_upload(workspace, item.id, {}, at(2)).take(), errors::upload_already_acked);
  // Another sender gets no information.
  EXPECT_ERROR(store->recall_upload(workspace, item.id, TokenId::make(at(0)), at(2)).take(), errors::upload_gone);
  EXPECT_TRUE(store->find_upload(workspace, item.id));
}

TEST_P(UploadLifecycle, AnExpiredAbsentOrForeignFileCannotBeRecalled) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt"), at(0), at(5)).upload.id;
  EXPECT_ERROR(store->recall_upload(workspace, id, {}, at(5)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(make_workspace().id, id, {}, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(workspace, FileId::make(at(0)), {}, at(1)).take(), errors::upload_gone);
  EXPECT_EQ(inbox_of(workspace).size(), 1u);
}

TEST_P(UploadLifecycle, ARecalledOutgoingFileLeavesNoReceipt) {
  const auto workspace = make_workspace().id;
  auto terms = until(at(99));
  terms.direction = UploadDirection::out;
  const auto item = small_file("a.txt", "bytes");
  ASSERT_TRUE(store->stage_uploads(workspace, {item}, terms, at(0)).take());
  EXPECT_FALSE(store->recall_upload(workspace, item.id, {}, at(1)).take()->receipt);
  EXPECT_THAT(inbox_of(workspace), IsEmpty());
  EXPECT_THAT(store->list_dropped_blobs(10, at(0), ""), IsEmpty()) << "content in the row is deleted with it";
  EXPECT_EQ(state(workspace, item.id, at(1)), UploadState::recalled);
}

TEST_P(UploadLifecycle, TheStatusOfAStagedFileFollowsItsState) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt", 9);
  stage(workspace, item, at(0), at(50));
  EXPECT_EQ(state(workspace, item.id, at(1)), UploadState::staged);
  ASSERT_TRUE(store->mark_fetched(workspace, item.id, at(1)).take());
  EXPECT_EQ(state(workspace, item.id, at(1)), UploadState::fetched);
  ASSERT_TRUE(store->fail_upload(workspace, item.id, "why", at(2)).take());
  const auto failed = store->find_upload_status(workspace, item.id, at(3)).value();
  EXPECT_EQ(failed.state, UploadState::failed);
  EXPECT_EQ(failed.upload.reason, "why");
  EXPECT_EQ(failed.upload.fetched_at, at(1));
  EXPECT_FALSE(failed.ended_at);
  EXPECT_EQ(state(workspace, item.id, at(50)), UploadState::expired) << "although not swept yet";
  ASSERT_TRUE(store->ack_upload(workspace, item.id, at(4)).take());
  EXPECT_EQ(state(workspace, item.id, at(50)), UploadState::acked);
  EXPECT_ERROR(store->find_upload_status(make_workspace().id, item.id, at(5)), errors::upload_gone);
  EXPECT_ERROR(store->find_upload_status(workspace, FileId::make(at(0)), at(5)), errors::upload_gone);
}

TEST_P(UploadLifecycle, TheStatusOutlivesTheRow) {
  const auto workspace = make_workspace().id;
  auto terms = until(at(50));
  terms.staged_by = TokenId::make(at(0));
  const auto acked = file("acked.txt", 9);
  const auto recalled = small_file("recalled.txt", "bytes");
  const auto expired = file("expired.txt");
  ASSERT_TRUE(store->stage_uploads(workspace, {acked, recalled, expired}, terms, at(1)).take());
  ASSERT_TRUE(store->mark_fetched(workspace, acked.id, at(2)).take());
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(3)).take());
  ASSERT_TRUE(store->recall_upload(workspace, recalled.id, {}, at(4)).take());
  ASSERT_TRUE(store->fail_upload(workspace, expired.id, "no room", at(5)).take());
  const auto swept = store->sweep_uploads(std::chrono::seconds(10), 10, at(60)).take().value();
  ASSERT_EQ(swept.acked, 1);
  ASSERT_EQ(swept.expired.size(), 1u);
  reopen();
  const auto upload_status = store->find_upload_status(workspace, acked.id, at(70)).value();
  EXPECT_EQ(upload_status.state, UploadState::acked);
  EXPECT_EQ(upload_status.ended_at, at(60));
  EXPECT_EQ(upload_status.upload.id, acked.id);
  EXPECT_EQ(upload_status.upload.workspace_id, workspace);
  EXPECT_EQ(upload_status.upload.name, "acked.txt");
  EXPECT_EQ(upload_status.upload.mimetype, "text/plain");
  EXPECT_EQ(upload_status.upload.size, 9);
  EXPECT_EQ(upload_status.upload.sha256, acked.sha256);
  EXPECT_EQ(upload_status.upload.direction, UploadDirection::in);
  EXPECT_EQ(upload_status.upload.staged_by, terms.staged_by);
  EXPECT_EQ(upload_status.upload.created_at, at(1));
  EXPECT_EQ(upload_status.upload.expires_at, at(50));
  EXPECT_EQ(upload_status.upload.fetched_at, at(2));
  EXPECT_EQ(upload_status.upload.acked_at, at(3));
  EXPECT_FALSE(upload_status.upload.failed_at);
  EXPECT_EQ(state(workspace, recalled.id, at(70)), UploadState::recalled);
  EXPECT_EQ(store->find_upload_status(workspace, recalled.id, at(70))->ended_at, at(4));
  const auto failed = store->find_upload_status(workspace, expired.id, at(70)).value();
  EXPECT_EQ(failed.state, UploadState::expired);
  EXPECT_EQ(failed.upload.failed_at, at(5));
  EXPECT_EQ(failed.upload.reason, "no room");
  EXPECT_ERROR(store->find_upload_status(make_workspace().id, acked.id, at(70)), errors::upload_gone);
}

TEST_P(UploadLifecycle, FinishedUploadsAreKeptAsLongAsInboxRows) {
  const auto workspace = make_workspace().id;
  std::vector<FileId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(stage(workspace, file("f"), at(i)).upload.id);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(store->recall_upload(workspace, ids[static_cast<std::size_t>(i)], {}, at(100 + i)).take());
  }
  ASSERT_TRUE(store->ack_inbox(workspace, 10).take());
  std::int64_t deleted = 0;
  while (const auto step = store->prune(at(103), at(0), at(200), 2).take()->rows) deleted += step;
  EXPECT_EQ(deleted, 3 + 3 + 5) << "three finished uploads, their receipts, and the arrivals";
  EXPECT_ERROR(store->find_upload_status(workspace, ids[2], at(200)), errors::upload_gone);
  EXPECT_EQ(state(workspace, ids[3], at(200)), UploadState::recalled);
  EXPECT_EQ(state(workspace, ids[4], at(200)), UploadState::recalled);
}

TEST_P(UploadLifecycle, OfAnAckARecallAndASweepAtOnceExactlyOneHappens) {
  const auto workspace = make_workspace().id;
  int acks = 0;
  int recalls = 0;
  int sweeps = 0;
  for (int i = 0; i < 30; ++i) {
    const auto id = stage(workspace, file("f"), at(0), at(10)).upload.id;
    // Each has its own clock: for the sweep the file is due, for the others it is not.
    bool acked = false;
    bool recalled = false;
    std::size_t swept = 0;
    std::thread first([&] { acked = store->ack_upload(workspace, id, at(9)).take().has_value(); });
    std::thread second([&] { recalled = store->recall_upload(workspace, id, {}, at(9)).take().has_value(); });
    std::thread third([&] { swept = store->sweep_uploads(std::chrono::hours(1), 10, at(10)).take()->expired.size(); });
    first.join(), second.join(), third.join();
    EXPECT_EQ(static_cast<std::size_t>(acked) + static_cast<std::size_t>(recalled) + swept, 1u);
    acks += acked ? 1 : 0, recalls += recalled ? 1 : 0, sweeps += static_cast<int>(swept);
  }
  const auto all = methods(workspace);
  EXPECT_EQ(std::ranges::count(all, "chat_upload_acked"), acks);
  EXPECT_EQ(std::ranges::count(all, "chat_upload_recalled"), recalls);
  EXPECT_EQ(std::ranges::count(all, "chat_upload_expired"), sweeps);
}

}  // namespace
}  // namespace restante::testing
