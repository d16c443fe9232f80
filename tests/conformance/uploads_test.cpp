#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Uploads : public StoreTest {
 protected:
  std::vector<std::string> waiting(WorkspaceId workspace, Time now = at(0), std::optional<FileId> after = {},
                                   int limit = 100) {
    std::vector<std::string> names;
    for (const auto& upload : store->list_waiting(workspace, after, limit, now)) names.push_back(upload.name);
    return names;
  }
};
RESTANTE_EVERY_BACKEND(Uploads);

TEST_P(Uploads, StagingRecordsEveryItemAndOneInboxRowEachInOrder) {
  const auto workspace = make_workspace().id;
  append(workspace, message("before"));
  const std::vector<NewUpload> items{file("b.txt", 1), file("a.txt", kMaxFileBytes), file("c.txt")};
  const auto staged = store->stage_uploads(workspace, items, until(at(99)), at(5)).take().value();
  ASSERT_EQ(staged.size(), 3u);
  reopen();
  const auto rows = inbox_of(workspace);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = store->find_upload(workspace, items[i].id).value();
    for (const auto* upload : {&staged[i].upload, &found}) {
      EXPECT_EQ(upload->id, items[i].id);
      EXPECT_EQ(upload->name, items[i].name);
      EXPECT_EQ(upload->mimetype, "text/plain");
      EXPECT_EQ(upload->size, items[i].size);
      EXPECT_EQ(upload->sha256, items[i].sha256);
      EXPECT_EQ(upload->blob_key, items[i].blob_key);
      EXPECT_EQ(upload->workspace_id, workspace);
      EXPECT_EQ(upload->created_at, at(5));
      EXPECT_EQ(upload->expires_at, at(99));
      EXPECT_EQ(upload->state(at(5)), UploadState::staged);
    }
    EXPECT_EQ(rows[i + 1].id, staged[i].row.id);
    EXPECT_EQ(rows[i + 1].seq, staged[i].row.seq);
    EXPECT_EQ(rows[i + 1].seq, static_cast<std::int64_t>(i) + 2);
  }
}

TEST_P(Uploads, TheInboxRowOfAFileIsAsInTheContract) {
  const auto workspace = make_workspace().id;
  const auto item = file("report.pdf", 12345);
  stage(workspace, item);
  const auto row = inbox_of(workspace).at(0);
  EXPECT_EQ(row.activity_type, "a2a_receive");
  EXPECT_EQ(row.method, "chat_upload_receive");
  EXPECT_EQ(row.summary, "chat_upload_receive: report.pdf");
  EXPECT_FALSE(row.source_id);
  EXPECT_EQ(row.target_id, workspace);
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.response_body, "");
  EXPECT_EQ(row.request_body,
            "{\"file_id\":\"" + item.id.text() +
                "\",\"name\":\"report.pdf\",\"filename\":\"report.pdf\",\"mimeType\":\"text/plain\","
                "\"size\":12345,\"uri\":\"platform-pending:" +
                workspace.text() + "/" + item.id.text() +
                "\",\"sha256\":\"6466e450a16b77b865c5829d6b6c56d9f892956475642dbeb9ccc4340fe01b15\"}");
}

TEST_P(Uploads, SmallContentIsKeptInItsRowAndComesBackByteForByte) {
  const auto workspace = make_workspace().id;
  std::string bytes(static_cast<std::size_t>(kMaxRowBytes), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  const auto large = small_file("large.bin", bytes);
  const auto one = small_file("one.bin", std::string(1, '\0'));
  const auto staged = store->stage_uploads(workspace, {large, one}, until(at(99)), at(0)).take().value();
  EXPECT_TRUE(staged[0].upload.in_row());
  EXPECT_EQ(staged[0].upload.content, "") << "the answer does not contain it";
  reopen();
  EXPECT_EQ(store->find_upload(workspace, large.id)->content, "");
  EXPECT_EQ(store->read_upload(workspace, large.id)->content, bytes);
  EXPECT_EQ(store->read_upload(workspace, large.id)->sha256, large.sha256);
  EXPECT_EQ(store->read_upload(workspace, one.id)->content, std::string(1, '\0'));
  ASSERT_TRUE(store->ack_upload(workspace, large.id, at(1)).take());
  EXPECT_EQ(store->read_upload(workspace, large.id)->content, bytes) << "until it is swept";
}

TEST_P(Uploads, AFileInBlobsIsReadWithoutContent) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt");
  stage(workspace, item);
  const auto upload = store->read_upload(workspace, item.id).value();
  EXPECT_EQ(upload.blob_key, item.blob_key);
  EXPECT_EQ(upload.content, "");
  EXPECT_FALSE(upload.in_row());
}

TEST_P(Uploads, AnItemStoredTwiceOrNowhereOrWithTheWrongSizeIsRefused) {
  const auto workspace = make_workspace().id;
  auto nowhere = file("nowhere.txt");
  nowhere.blob_key.clear();
  auto twice = small_file("twice.txt", "bytes");
  twice.blob_key = "key";
  auto short_one = small_file("short.txt", "bytes");
  short_one.size = 6;
  const auto too_large = small_file("large.txt", std::string(static_cast<std::size_t>(kMaxRowBytes) + 1, 'x'));
  for (const auto& bad : {nowhere, twice, short_one, too_large}) {
    const auto good = small_file("good.txt", "good");
    EXPECT_THROW(store->stage_uploads(workspace, {good, bad}, until(at(99)), at(0)).take(), std::logic_error);
    EXPECT_ERROR(store->find_upload(workspace, good.id), errors::upload_gone);
  }
  EXPECT_THAT(inbox_of(workspace), IsEmpty());
}

TEST_P(Uploads, TheTokenThatStagedAFileIsKept) {
  const auto workspace = make_workspace().id;
  const auto item = file("a.txt");
  auto terms = until(at(99));
  terms.staged_by = TokenId::make(at(0));
  EXPECT_EQ(store->stage_uploads(workspace, {item}, terms, at(0)).take()->at(0).upload.staged_by, terms.staged_by);
  EXPECT_EQ(store->find_upload(workspace, item.id)->staged_by, terms.staged_by);
  EXPECT_FALSE(store->find_upload(workspace, stage(workspace, file("b.txt")).upload.id)->staged_by);
}

TEST_P(Uploads, AnOutgoingFileIsFoundButNeitherInTheInboxNorWaitingNorAcked) {
  const auto workspace = make_workspace().id;
  const auto item = file("result.pdf");
  auto terms = until(at(99));
  terms.direction = UploadDirection::out;
  const auto staged = store->stage_uploads(workspace, {item}, terms, at(5)).take()->at(0);
  EXPECT_EQ(staged.row.seq, 0);
  EXPECT_EQ(staged.upload.direction, UploadDirection::out);
  EXPECT_EQ(store->find_upload(workspace, item.id)->direction, UploadDirection::out);
  EXPECT_EQ(store->find_upload(workspace, item.id)->created_at, at(5));
  EXPECT_THAT(inbox_of(workspace), IsEmpty());
  EXPECT_THAT(waiting(workspace), IsEmpty());
  EXPECT_ERROR(store->ack_upload(workspace, item.id, at(6)).take(), errors::upload_gone);
  EXPECT_ERROR(store->fail_upload(workspace, item.id, "no", at(6)).take(), errors::upload_gone);
  EXPECT_TRUE(store->mark_fetched(workspace, item.id, at(6)).take());
  EXPECT_FALSE(store->find_upload(workspace, item.id)->fetched_at);
}

TEST_P(Uploads, UnderAClaimARepeatedStagingIsTheFirstOne) {
  const auto workspace = make_workspace().id;
  const Claim claim{sha256("scope"), sha256("request"), at(100)};
  const auto render = [](const auto& staged) { return staged.at(0).upload.id.text(); };
  const auto stage_once = [&](const NewUpload& item, const Claim& under, Time now) {
    const ClaimedAnswer<std::vector<StagedUpload>> once{under, render};
    return store->stage_uploads(workspace, {item}, until(at(999)), now, once).take();
  };
  const auto first = file("a.txt");
  const auto made = stage_once(first, claim, at(1)).value();
  EXPECT_EQ(made.at(0).upload.id, first.id);
  EXPECT_EQ(made.at(0).row.seq, 1);
  reopen();
  const auto second = file("a.txt");
  EXPECT_EQ(earlier_answer_of(stage_once(second, claim, at(2))), first.id.text());
  EXPECT_ERROR(store->find_upload(workspace, second.id), errors::upload_gone);
  EXPECT_ERROR(stage_once(second, {claim.scope, sha256("other"), at(100)}, at(3)), errors::idempotency_mismatch);
  EXPECT_THAT(waiting(workspace), ElementsAre("a.txt"));
  ASSERT_TRUE(stage_once(second, {claim.scope, sha256("other"), at(200)}, at(100))) << "a claim ends";
}

TEST_P(Uploads, ARefusedStagingLeavesItsClaimFree) {
  const auto workspace = make_workspace().id;
  const Claim claim{sha256("scope"), sha256("request"), at(100)};
  const ClaimedAnswer<std::vector<StagedUpload>> once{claim, [](const auto&) { return "answer"; }};
  auto tight = until(at(99));
  tight.quota.max_files = 1;
  stage(workspace, file("a.txt"));
  const auto item = file("b.txt");
  EXPECT_ERROR(store->stage_uploads(workspace, {item}, tight, at(0), once).take(), errors::quota_exceeded);
  tight.quota.max_files = 2;
  EXPECT_TRUE(store->stage_uploads(workspace, {item}, tight, at(0), once).take());
}

TEST_P(Uploads, AnEmptyListDoesNothing) {
  const auto workspace = make_workspace().id;
  EXPECT_THAT(store->stage_uploads(workspace, {}, until(at(1)), at(0)).take().value(), IsEmpty());
  EXPECT_THAT(store->stage_uploads(WorkspaceId::make(at(0)), {}, until(at(1)), at(0)).take().value(), IsEmpty());
  EXPECT_THAT(inbox_of(workspace), IsEmpty());
}

TEST_P(Uploads, NothingIsStagedForAnUnknownOrRemovedWorkspace) {
  const auto unknown = WorkspaceId::make(at(0));
  const auto removed = make_workspace().id;
  remove(removed);
  const auto item = file("a.txt");
  EXPECT_ERROR(store->stage_uploads(unknown, {item}, until(at(1)), at(0)).take(), errors::workspace_not_found);
  EXPECT_ERROR(store->stage_uploads(removed, {item}, until(at(1)), at(0)).take(), errors::workspace_removed);
  EXPECT_ERROR(store->find_upload(unknown, item.id), errors::upload_gone);
  EXPECT_ERROR(store->find_upload(removed, item.id), errors::upload_gone);
}

// The API layer refuses such items. If one gets through, the schema refuses it, and the whole batch leaves nothing.
TEST_P(Uploads, ABatchWithAnItemTheSchemaRefusesLeavesNothing) {
  const auto workspace = make_workspace().id;
  const auto taken = file("taken.txt");
  stage(workspace, taken);
  NewUpload same_id = file("same_id.txt");
  same_id.id = taken.id;
  for (const auto& bad : {file("empty.txt", 0), file("big.txt", kMaxFileBytes + 1), file("", 5),
                          file(std::string(101, 'n'), 5), same_id}) {
    const std::vector<NewUpload> items{file("good.txt"), bad, file("also_good.txt")};
    EXPECT_THROW(store->stage_uploads(workspace, items, until(at(99)), at(1)).take(), std::logic_error);
    EXPECT_ERROR(store->find_upload(workspace, items[0].id), errors::upload_gone);
  }
  EXPECT_EQ(inbox_of(workspace).size(), 1u);
  EXPECT_THAT(waiting(workspace), ElementsAre("taken.txt"));
  EXPECT_EQ(append(workspace, message("next")).seq, 2) << "no number was used up";
}

TEST_P(Uploads, AFileOfAnotherWorkspaceIsGoneForEveryVerb) {
  const auto owner = make_workspace().id;
  const auto other_workspace = make_workspace().id;
  const auto id = stage(owner, file("a.txt")).upload.id;
  EXPECT_ERROR(store->find_upload(other_workspace, id), errors::upload_gone);
  EXPECT_ERROR(store->mark_fetched(other_workspace, id, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->ack_upload(other_workspace, id, at(1)).take(), errors::upload_gone);
  EXPECT_THAT(waiting(other_workspace), IsEmpty());
  const auto upload = store->find_upload(owner, id).value();
  EXPECT_FALSE(upload.fetched_at);
  EXPECT_FALSE(upload.acked_at);
}

TEST_P(Uploads, AnUnknownFileIsGoneForEveryVerb) {
  const auto workspace = make_workspace().id;
  const auto id = FileId::make(at(0));
  EXPECT_ERROR(store->find_upload(workspace, id), errors::upload_gone);
  EXPECT_ERROR(store->mark_fetched(workspace, id, at(1)).take(), errors::upload_gone);
  EXPECT_ERROR(store->ack_upload(workspace, id, at(1)).take(), errors::upload_gone);
}

TEST_P(Uploads, FetchedAtMovesToTheLatestFetchUntilTheAck) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  ASSERT_TRUE(store->mark_fetched(workspace, id, at(1)).take());
  ASSERT_TRUE(store->mark_fetched(workspace, id, at(2)).take());
  EXPECT_EQ(store->find_upload(workspace, id)->fetched_at, at(2));
  ASSERT_TRUE(store->ack_upload(workspace, id, at(3)).take());
  EXPECT_TRUE(store->mark_fetched(workspace, id, at(4)).take());
  EXPECT_EQ(store->find_upload(workspace, id)->fetched_at, at(2));
}

TEST_P(Uploads, TheFirstAckSetsTheTimeAndLeavesAReceiptARepeatedOneChangesNothing) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt", 7)).upload.id;
  ASSERT_TRUE(store->mark_fetched(workspace, id, at(1)).take());
  EXPECT_EQ(store->ack_upload(workspace, id, at(2)).take()->upload.acked_at, at(2));
  reopen();
  EXPECT_EQ(store->ack_upload(workspace, id, at(3)).take()->upload.acked_at, at(2));
  EXPECT_EQ(store->find_upload(workspace, id)->acked_at, at(2));
  const auto rows = inbox_of(workspace);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].activity_type, "upload_receipt");
  EXPECT_EQ(rows[1].method, "chat_upload_acked");
  EXPECT_EQ(rows[1].created_at, at(2));
  EXPECT_EQ(rows[1].request_body, "{\"file_id\":\"" + id.text() +
                                      "\",\"name\":\"a.txt\",\"size\":7,\"fetched_at\":\"2026-01-01T00:00:01.000000Z\","
                                      "\"acked_at\":\"2026-01-01T00:00:02.000000Z\"}");
}

TEST_P(Uploads, AFileMayBeAckedThoughItWasNeverFetched) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  EXPECT_TRUE(store->ack_upload(workspace, id, at(2)).take());
  EXPECT_NE(inbox_of(workspace).at(1).request_body.find("\"fetched_at\":null"), std::string::npos);
}

TEST_P(Uploads, OfManyAcksAtOnceOneLeavesAReceipt) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  std::vector<Commit<Result<UploadChange>>> commits;
  for (int i = 0; i < 50; ++i) commits.push_back(store->ack_upload(workspace, id, at(i)));
  for (auto& commit : commits) EXPECT_EQ(commit.take()->upload.acked_at, at(0));
  EXPECT_EQ(inbox_of(workspace).size(), 2u);
}

TEST_P(Uploads, AnExpiredFileIsFoundButNeitherListedNorAcked) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt"), at(0), at(10)).upload.id;
  EXPECT_THAT(waiting(workspace, at(9)), ElementsAre("a.txt"));
  EXPECT_THAT(waiting(workspace, at(10)), IsEmpty());
  EXPECT_ERROR(store->ack_upload(workspace, id, at(10)).take(), errors::upload_gone);
  EXPECT_EQ(store->find_upload(workspace, id)->state(at(10)), UploadState::expired);
  EXPECT_EQ(inbox_of(workspace).size(), 1u);
  EXPECT_TRUE(store->ack_upload(workspace, id, at(9)).take());
}

TEST_P(Uploads, ARemovedWorkspacesFilesStayAsEvidence) {
  const auto workspace = make_workspace().id;
  const auto id = stage(workspace, file("a.txt")).upload.id;
  remove(workspace);
  EXPECT_TRUE(store->find_upload(workspace, id));
  EXPECT_THAT(waiting(workspace), ElementsAre("a.txt"));
}

TEST_P(Uploads, WaitingFilesAreListedOldestFirstPageByPage) {
  const auto workspace = make_workspace().id;
  stage(workspace, file("0"), at(100));
  const std::vector<NewUpload> batch{file("1"), file("2"), file("3")};
  ASSERT_TRUE(store->stage_uploads(workspace, batch, until(at(999)), at(101)).take());
  stage(workspace, file("4"), at(50), at(999));
  EXPECT_THAT(waiting(workspace), ElementsAre("0", "1", "2", "3", "4")) << "a clock that goes back hides nothing";
  EXPECT_THAT(waiting(workspace, at(0), std::nullopt, 2), ElementsAre("0", "1"));
  EXPECT_THAT(waiting(workspace, at(0), batch[0].id, 2), ElementsAre("2", "3"));
  ASSERT_TRUE(store->ack_upload(workspace, batch[1].id, at(102)).take());
  EXPECT_THAT(waiting(workspace, at(0), batch[1].id, 2), ElementsAre("3", "4")) << "the cursor may be acked meanwhile";
  EXPECT_THAT(waiting(workspace), ElementsAre("0", "1", "3", "4"));
  EXPECT_THAT(waiting(workspace, at(0), FileId::make(at(0))), ElementsAre("0", "1", "3", "4"));
  EXPECT_THAT(waiting(workspace, at(0), std::nullopt, -1), IsEmpty());
}

}  // namespace
}  // namespace restante::testing
