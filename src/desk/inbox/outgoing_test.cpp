#include "desk/inbox/outgoing.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;

class OutgoingTest : public ::testing::Test {
 protected:
  FileId stage(WorkspaceId owner, std::string_view bytes = "result", UploadDirection direction = UploadDirection::out) {
    auto staging = desk.uploads.stage(owner, direction, {Role::workspace, owner, {}, false});
    EXPECT_TRUE((*staging)->begin_file("result.txt", "text/plain").has_value());
    EXPECT_TRUE((*staging)->write(bytes).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    return (*staging)->commit().take()->at(0).upload.id;
  }
  Envelope message(const std::vector<std::string>& uris) {
    std::string parts = R"({"kind":"text","text":"here"})";
    for (const std::string& uri : uris) parts += R"(,{"kind":"file","file":{"uri":")" + uri + R"(","name":"n"}})";
    auto json =
        parse_json(R"({"method":"message/send","params":{"message":{"messageId":"m1","parts":[)" + parts + "]}}}");
    return *normalise_message(std::move(*json), kStart);
  }
  Result<SentMessage> send(Envelope envelope) {
    auto files = address_files(agent, target, envelope, desk.clock.now());
    if (!files) return files.error();
    const NewInboxRow row = message_row(agent, target, envelope, "");
    return desk.outgoing.send(target, row, std::move(*files)).take();
  }
  std::string bytes_of(WorkspaceId workspace, FileId id) {
    const auto open = desk.uploads.open({Role::workspace, workspace, {}, false}, workspace, id);
    if (!open) return "gone";
    if (!open->blob) return open->content;
    std::string bytes(static_cast<std::size_t>(open->upload.size), '\0');
    EXPECT_EQ(open->blob->read(0, bytes), bytes.size());
    return bytes;
  }

  TestDesk desk;
  const WorkspaceId source = desk.make_workspace();
  const WorkspaceId target = desk.make_workspace();
  const WorkspaceId third = desk.make_workspace();
  const Principal agent{Role::workspace, source, {}, false};
  const std::string big = std::string(20'000, 'x');
};

TEST_F(OutgoingTest, AFileIsSentWithTheMessageUnderAnIdOfTheTarget) {
  for (const std::string& bytes : {std::string("small"), big}) {
    const FileId file = stage(source, bytes);
    const auto sent = send(message({pending_uri(source, file)}));
    ASSERT_TRUE(sent.has_value());
    ASSERT_EQ(sent->files.size(), 1u);
    const FileId copy = sent->files[0].upload.id;
    EXPECT_NE(copy, file);
    EXPECT_LT(sent->files[0].row.seq, sent->row.seq) << "the file comes before the message that names it";
    const auto rows = desk.inbox_of(target);
    ASSERT_GE(rows.size(), 2u);
    EXPECT_EQ(rows[rows.size() - 2].method, "chat_upload_receive");
    EXPECT_NE(rows.back().request_body.find(pending_uri(target, copy)), std::string::npos);
    EXPECT_EQ(rows.back().request_body.find(source.text() + "/"), std::string::npos);
    EXPECT_EQ(bytes_of(target, copy), bytes);
    EXPECT_EQ(desk.uploads.waiting(kOperator, target, {}, 10).back().id, copy);
    desk.clock.advance(std::chrono::hours(1));
    EXPECT_TRUE(desk.uploads.ack(target, copy).take());
    EXPECT_EQ(bytes_of(source, file), bytes) << "shared, and the sender keeps it";
  }
}

TEST_F(OutgoingTest, FilesBetweenAgentsAreHiddenFromSenders) {
  const auto sent = send(message({pending_uri(source, stage(source, "small"))}));
  ASSERT_TRUE(sent.has_value());
  const FileId hidden = sent->files[0].upload.id;
  const Principal sender{Role::sender, target, TokenId::make(kStart), false};
  auto staging = desk.uploads.stage(target, UploadDirection::in, sender);
  ASSERT_TRUE((*staging)->begin_file("a.txt", "text/plain") && (*staging)->write("x") && (*staging)->end_file());
  const FileId own = (*staging)->commit().take()->at(0).upload.id;
  EXPECT_TRUE(desk.uploads.open(sender, target, hidden).error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.find(sender, target, hidden).error().is(errors::upload_gone));
  const auto seen = desk.uploads.waiting(sender, target, {}, 1);
  ASSERT_EQ(seen.size(), 1u) << "the page is filled up when files are omitted";
  EXPECT_EQ(seen[0].id, own);
  for (int i = 0; i < 3; ++i) (void)stage(target, "more", UploadDirection::in);
  EXPECT_EQ(desk.uploads.waiting(sender, target, {}, 2).size(), 2u) << "and never overfilled";
  EXPECT_EQ(desk.uploads.waiting(sender, target, {}, 10).size(), 4u);
  EXPECT_EQ(desk.uploads.waiting(kOperator, target, {}, 10).size(), 5u);
}

TEST_F(OutgoingTest, ASharedBlobIsKeptUntilItsLastRowIsDeleted) {
  const FileId file = stage(source, big);
  desk.clock.advance(std::chrono::hours(23));
  const auto sent = send(message({pending_uri(source, file)}));
  ASSERT_TRUE(sent.has_value());
  desk.clock.advance(std::chrono::hours(1));
  EXPECT_EQ(desk.sweep.run_once()->expired, 1);
  EXPECT_EQ(bytes_of(source, file), "gone");
  EXPECT_EQ(bytes_of(target, sent->files[0].upload.id), big);
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(desk.sweep.run_once()->blobs, 1);
  EXPECT_EQ(desk.blob_files(), 0u);
}

TEST_F(OutgoingTest, AFileThatIsNamedTwiceIsSentOnce) {
  const FileId file = stage(source);
  const auto sent = send(message({pending_uri(source, file), pending_uri(source, file)}));
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->files.size(), 1u);
}

TEST_F(OutgoingTest, OnlyLiveOutgoingFilesOfTheSenderCanBeSent) {
  const FileId received = stage(source, "for me", UploadDirection::in);
  const FileId foreign = stage(third);
  const FileId expired = stage(source);
  const std::string uris[] = {pending_uri(source, received), pending_uri(third, foreign), "platform-pending:nonsense",
                              pending_uri(source, FileId::make(kStart)), pending_uri(source, foreign)};
  for (const std::string& uri : uris) {
    const auto sent = send(message({uri}));
    ASSERT_FALSE(sent.has_value()) << uri;
    EXPECT_TRUE(sent.error().is(errors::attachment_gone)) << uri;
  }
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(send(message({pending_uri(source, expired)})).error().is(errors::attachment_gone));
  EXPECT_EQ(desk.inbox_of(target).size(), 0u) << "and the message is not sent either";
}

TEST_F(OutgoingTest, WhileTheClockIsInDoubtALiveFileCanBeSent) {
  const FileId file = stage(source);
  const Time trusted = desk.clock.now();
  desk.clock.jump(std::chrono::hours(40 * 24));
  desk.clock.doubt(trusted);
  EXPECT_TRUE(send(message({pending_uri(source, file)})));
}

TEST_F(OutgoingTest, FilesThatPeopleNameAndForeignUrisStayAsTheyAre) {
  const FileId waiting = stage(target, "by people", UploadDirection::in);
  const std::vector<std::string> uris{pending_uri(target, waiting), "https://example.org/a", "workspace:/tmp/a"};
  Envelope by_agent = message(uris);
  EXPECT_TRUE(address_files(agent, target, by_agent, kStart)->empty());
  EXPECT_EQ(by_agent.json.dump(), message(uris).json.dump());
  const std::vector<std::string> anything{pending_uri(target, waiting), pending_uri(third, FileId::make(kStart))};
  for (const Principal& person : {Principal{Role::admin, {}, {}, false}, Principal{Role::sender, target, {}, false}}) {
    Envelope by_person = message(anything);
    EXPECT_TRUE(address_files(person, target, by_person, kStart)->empty());
    EXPECT_EQ(by_person.json.dump(), message(anything).json.dump());
  }
  Envelope to_itself = message({pending_uri(source, FileId::make(kStart))});
  EXPECT_TRUE(address_files(agent, source, to_itself, kStart)->empty());
}

TEST_F(OutgoingTest, AnAgentMaySendAFileToItself) {
  const FileId out = FileId::make(kStart), in = FileId::make(kStart);
  Envelope to_itself = message({pending_uri(source, out), pending_uri(source, in)});
  const auto files = address_files(agent, source, to_itself, kStart, [&](FileId file) { return file == out; });
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().source, out);
  const auto sent_json = to_itself.json.dump();
  EXPECT_EQ(sent_json.find(out.text()), std::string::npos) << "it is sent under a new id";
  EXPECT_NE(sent_json.find(in.text()), std::string::npos) << "a received file stays as it is";
}

TEST_F(OutgoingTest, AUriThatIsNoTextNamesNoFile) {
  auto json = parse_json(
      R"({"method":"message/send","params":{"message":{"messageId":"m1","parts":[{"kind":"file","file":{"uri":7}},)"
      R"({"kind":"file","file":"platform-pending:"}]}}})");
  Envelope envelope = *normalise_message(std::move(*json), kStart);
  const std::string before = envelope.json.dump();
  EXPECT_TRUE(address_files(agent, target, envelope, kStart)->empty());
  EXPECT_EQ(envelope.json.dump(), before);
}

TEST_F(OutgoingTest, UnderAClaimFilesAreSentOnceAndARefusalUsesNoClaim) {
  const FileId file = stage(source);
  const Claim claim{sha256("scope"), sha256("request"), kStart + std::chrono::hours(25)};
  const auto once = [&](const std::string& uri) {
    Envelope envelope = message({uri});
    auto files = address_files(agent, target, envelope, desk.clock.now());
    const ClaimedAnswer<SentMessage> claimed{claim,
                                             [](const SentMessage& sent) { return std::to_string(sent.row.seq); }};
    return desk.outgoing.send(target, message_row(agent, target, envelope, ""), std::move(*files), claimed).take();
  };
  const double staged = desk.metrics.uploads_staged.Value();
  EXPECT_EQ(staged, 0) << "an outgoing file has no receiver yet";
  (void)desk.bell.rung(0);
  EXPECT_TRUE(once(pending_uri(source, FileId::make(kStart))).error().is(errors::attachment_gone));
  EXPECT_TRUE(desk.bell.rung(0).empty());
  const auto first = once(pending_uri(source, file));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(desk.bell.rung(2).size(), 2u) << "for the file and for the message";
  const auto again = once(pending_uri(source, file));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(*earlier_answer(again.error()), std::to_string(first->row.seq));
  EXPECT_TRUE(desk.bell.rung(0).empty()) << "nothing happened";
  EXPECT_EQ(desk.metrics.uploads_staged.Value(), staged + 1);
  EXPECT_EQ(desk.inbox_of(target).size(), 2u);
}

TEST_F(OutgoingTest, ARepeatedMessageSendsItsFilesOnce) {
  const FileId file = stage(source);
  const auto first = send(message({pending_uri(source, file)}));
  const auto again = send(message({pending_uri(source, file)}));
  ASSERT_TRUE(first.has_value() && again.has_value());
  EXPECT_EQ(first->row.id, again->row.id);
  EXPECT_TRUE(again->files.empty());
  EXPECT_EQ(desk.inbox_of(target).size(), 2u);
}

TEST_F(OutgoingTest, FilesShownToPeopleMustExist) {
  const auto shown = [&](const std::string& uri) {
    Json::Array parts;
    parts.push_back(
        Json::object({{"kind", Json::string("file")}, {"file", Json::object({{"uri", Json::string(uri)}})}}));
    return desk.outgoing.check_shown(source, parts);
  };
  const FileId file = stage(source);
  const FileId received = stage(source, "for me", UploadDirection::in);
  EXPECT_TRUE(shown(pending_uri(source, file)).has_value());
  EXPECT_TRUE(shown(pending_uri(source, received)).has_value());
  EXPECT_TRUE(shown("https://example.org/a").has_value());
  EXPECT_TRUE(shown(pending_uri(third, stage(third))).error().is(errors::attachment_gone));
  EXPECT_TRUE(shown(pending_uri(source, FileId::make(kStart))).error().is(errors::attachment_gone));
  EXPECT_TRUE(shown("platform-pending:").error().is(errors::attachment_gone));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(shown(pending_uri(source, file)).error().is(errors::attachment_gone));
}

}  // namespace
}  // namespace restante::desk
