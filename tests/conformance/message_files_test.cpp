// Messages that name outgoing files: the files come first, all in one transaction, and share the blobs.
#include <gmock/gmock.h>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MessageFiles : public StoreTest {
 protected:
  FileId stage_out(const NewUpload& item, Time expires_at = at(100)) {
    auto terms = until(expires_at);
    terms.direction = UploadDirection::out;
    EXPECT_TRUE(store->stage_uploads(owner, {item}, terms, at(0)).take());
    return item.id;
  }
  OutgoingFile named(FileId source) const { return {owner, source, FileId::make(at(0))}; }
  // A message as the caller passes it: its body names the new addresses.
  NewInboxRow naming(const std::vector<OutgoingFile>& files, const std::string& message_id = "") const {
    NewInboxRow activity = message("see files", message_id);
    activity.source_id = owner;
    activity.request_body = "{\"parts\":[";
    for (const auto& file : files) activity.request_body += "\"" + pending_uri(target, file.id) + "\",";
    activity.request_body += "null]}";
    return activity;
  }
  Result<SentMessage> send(const std::vector<OutgoingFile>& files, const std::string& message_id = "",
                           const StagingTerms& terms = until(at(500)), Time now = at(10)) {
    return store->append_to_inbox_with_files(target, naming(files, message_id), files, terms, now).take();
  }

  const WorkspaceId owner = make_workspace("owner").id;
  const WorkspaceId target = make_workspace("target").id;
};
RESTANTE_EVERY_BACKEND(MessageFiles);

TEST_P(MessageFiles, TheFilesComeBeforeTheMessageUnderNewIdsAndShareTheBlobs) {
  const auto large = file("large.pdf", 123);
  const auto small = small_file("small.txt", "content");
  stage_out(large);
  stage_out(small);
  const std::vector<OutgoingFile> files{named(large.id), named(small.id)};
  auto terms = until(at(500));
  terms.staged_by = TokenId::make(at(0));
  const auto sent = send(files, "", terms).value();
  reopen();
  const auto rows = inbox_of(target);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(sent.row.seq, 3);
  EXPECT_EQ(rows[2].id, sent.row.id);
  EXPECT_EQ(rows[2].request_body, naming(files).request_body);
  EXPECT_FALSE(sent.row.repeated);
  ASSERT_EQ(sent.files.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& source = i == 0 ? large : small;
    const auto copy = store->read_upload(target, files[i].id).value();
    EXPECT_EQ(sent.files[i].upload.id, files[i].id);
    EXPECT_EQ(sent.files[i].row.id, rows[i].id);
    EXPECT_EQ(rows[i].method, "chat_upload_receive");
    EXPECT_NE(rows[i].request_body.find("\"uri\":\"" + pending_uri(target, files[i].id) + "\""), std::string::npos);
    EXPECT_EQ(copy.name, source.name);
    EXPECT_EQ(copy.mimetype, source.mimetype);
    EXPECT_EQ(copy.size, source.size);
    EXPECT_EQ(copy.sha256, source.sha256);
    EXPECT_EQ(copy.blob_key, source.blob_key);
    EXPECT_EQ(copy.content, source.content);
    EXPECT_EQ(copy.direction, UploadDirection::in);
    EXPECT_EQ(copy.workspace_id, target);
    EXPECT_EQ(copy.expires_at, at(500));
    EXPECT_EQ(copy.created_at, at(10));
    EXPECT_EQ(copy.staged_by, terms.staged_by);
    EXPECT_EQ(copy.source_id, owner);
    EXPECT_EQ(rows[i].source_id, owner) << "not a part of the chat with people";
  }
  EXPECT_TRUE(store->find_upload(owner, large.id)) << "the sender keeps its file";
  EXPECT_THAT(inbox_of(owner), IsEmpty());
  EXPECT_TRUE(store->ack_upload(target, files[0].id, at(11)).take());
  EXPECT_EQ(inbox_of(target).back().source_id, owner) << "nor is its receipt";
}

TEST_P(MessageFiles, AMessageWithoutFilesIsJustAMessage) {
  const auto sent = send({}).value();
  EXPECT_EQ(sent.row.seq, 1);
  EXPECT_THAT(sent.files, IsEmpty());
  EXPECT_EQ(inbox_of(target).size(), 1u);
}

TEST_P(MessageFiles, AFileThatIsNotTheOwnersLiveOutgoingOneRefusesTheWholeMessage) {
  const auto good = stage_out(file("good"));
  const auto expired = stage_out(file("expired"), at(10));
  const auto recalled = stage_out(file("recalled"));
  ASSERT_TRUE(store->recall_upload(owner, recalled, {}, at(1)).take());
  const auto incoming = stage(owner, file("incoming")).upload.id;
  OutgoingFile foreign{target, good, FileId::make(at(0))};
  for (const auto& bad : {named(expired), named(recalled), named(incoming), named(FileId::make(at(0))), foreign}) {
    const auto refused = send({named(good), bad});
    EXPECT_ERROR(refused, errors::attachment_gone);
    ASSERT_EQ(refused.error().facts().size(), 1u);
    EXPECT_EQ(std::get<std::string>(refused.error().facts()[0].value), bad.source.text());
  }
  EXPECT_THAT(inbox_of(target), IsEmpty());
  EXPECT_THAT(store->list_waiting(target, {}, 10, at(10)), IsEmpty());
  EXPECT_TRUE(send({named(expired)}, "", until(at(500)), at(9)));
}

TEST_P(MessageFiles, TheTargetsQuotaCountsAndARefusedMessageLeavesNothing) {
  const auto first = stage_out(file("first", 6));
  const auto second = stage_out(file("second", 6));
  auto terms = until(at(500));
  terms.quota.max_bytes = 12;
  EXPECT_TRUE(send({named(first)}, "", terms));
  EXPECT_ERROR(send({named(first), named(second)}, "", terms), errors::quota_exceeded);
  EXPECT_EQ(inbox_of(target).size(), 2u);
  EXPECT_TRUE(send({named(second)}, "", terms));
  EXPECT_ERROR(send({named(second)}, "", terms), errors::quota_exceeded);
}

TEST_P(MessageFiles, NothingIsSentToAnUnknownOrRemovedWorkspace) {
  const auto source = stage_out(file("a"));
  const auto unknown = WorkspaceId::make(at(0));
  EXPECT_ERROR(store->append_to_inbox_with_files(unknown, message("m"), {named(source)}, until(at(99)), at(1)).take(),
               errors::workspace_not_found);
  remove(target);
  EXPECT_ERROR(send({named(source)}), errors::workspace_removed);
}

TEST_P(MessageFiles, ARepeatedMessageIsTheSameRowAndItsFilesComeOnce) {
  const auto source = stage_out(file("a"));
  const auto first = send({named(source)}, "m-1").value();
  reopen();
  // The caller does not know that it is a repetition and has made new ids again.
  const auto again = send({named(source)}, "m-1").value();
  EXPECT_EQ(again.row.id, first.row.id);
  EXPECT_EQ(again.row.seq, first.row.seq);
  EXPECT_TRUE(again.row.repeated);
  EXPECT_THAT(again.files, IsEmpty());
  EXPECT_EQ(inbox_of(target).size(), 2u);
  EXPECT_EQ(store->list_waiting(target, {}, 10, at(10)).size(), 1u);

  const auto other = stage_out(file("b"));
  EXPECT_FALSE(send({named(other)}, "m-1")->row.repeated) << "another file is another message";
  EXPECT_TRUE(send({named(source)}, "m-1", until(at(500)), at(200))->row.repeated)
      << "also when the file has expired since";
}

TEST_P(MessageFiles, OneFileMayBeNamedTwiceAndSentAgain) {
  const auto source = stage_out(small_file("a", "content"));
  const std::vector<OutgoingFile> twice{named(source), named(source)};
  ASSERT_TRUE(send(twice));
  ASSERT_TRUE(send({named(source)}));
  const auto waiting = store->list_waiting(target, {}, 10, at(10));
  ASSERT_EQ(waiting.size(), 3u);
  for (const auto& upload : waiting) EXPECT_EQ(store->read_upload(target, upload.id)->content, "content");
}

TEST_P(MessageFiles, UnderAClaimARepeatedRequestIsTheFirstOne) {
  const auto source = stage_out(file("a"));
  const Claim claim{sha256("scope"), sha256("request"), at(100)};
  const auto render = [](const SentMessage& sent) {
    return sent.row.id.text() + " " + std::to_string(sent.files.size());
  };
  const auto send_once = [&](const Claim& under) {
    const std::vector<OutgoingFile> files{named(source)};
    const ClaimedAnswer<SentMessage> once{under, render};
    return store->append_to_inbox_with_files(target, naming(files), files, until(at(500)), at(10), once).take();
  };
  const auto made = send_once(claim).value();
  EXPECT_EQ(earlier_answer_of(send_once(claim)), made.row.id.text() + " 1");
  EXPECT_ERROR(send_once({claim.scope, sha256("other"), at(100)}), errors::idempotency_mismatch);
  EXPECT_EQ(inbox_of(target).size(), 2u);
}

TEST_P(MessageFiles, AMissingAttachmentLeavesTheClaimFree) {
  const Claim claim{sha256("scope"), sha256("request"), at(100)};
  const ClaimedAnswer<SentMessage> once{claim, [](const SentMessage&) { return "answer"; }};
  const auto item = file("a");
  const std::vector<OutgoingFile> files{named(item.id)};
  const auto send_once = [&] {
    return store->append_to_inbox_with_files(target, naming(files), files, until(at(500)), at(10), once).take();
  };
  EXPECT_ERROR(send_once(), errors::attachment_gone);
  stage_out(item);
  EXPECT_TRUE(send_once());
}

TEST_P(MessageFiles, ManyMessagesWithOneFileAtOnceAllGetIt) {
  const auto source = stage_out(file("a"));
  std::vector<Commit<Result<SentMessage>>> commits;
  for (int i = 0; i < 40; ++i) {
    const std::vector<OutgoingFile> files{named(i % 4 == 0 ? FileId::make(at(0)) : source)};
    commits.push_back(store->append_to_inbox_with_files(target, naming(files), files, until(at(500)), at(10)));
  }
  for (std::size_t i = 0; i < commits.size(); ++i) EXPECT_EQ(commits[i].take().has_value(), i % 4 != 0) << i;
  EXPECT_EQ(inbox_of(target).size(), 60u);
}

}  // namespace
}  // namespace restante::testing
