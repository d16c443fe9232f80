#include "desk/uploads/uploads.h"

#include <gtest/gtest.h>

#include "desk/uploads/test_uploads.h"
#include "model/errors.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;
using UploadsTest = TestUploads;

TEST_F(UploadsTest, OutgoingOnesHaveNoInboxRowAreNotListedAndCanBeReadByItsMembers) {
  auto staging = desk.uploads.stage(workspace, UploadDirection::out, agent);
  add(**staging, "result.txt", "done");
  const auto staged = (*staging)->commit().take();
  ASSERT_TRUE(staged.has_value());
  const FileId id = staged->at(0).upload.id;
  EXPECT_EQ(desk.inbox_of(workspace).size(), 0u);
  EXPECT_TRUE(desk.bell.rung(0).empty());
  EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 10).size(), 0u);
  for (const Principal& who : {agent, sender, admin}) {
    EXPECT_EQ(content(*desk.uploads.open(who, workspace, id)), "done");
  }
  EXPECT_TRUE(desk.uploads.ack(workspace, id).take().error().is(errors::upload_gone));
  desk.uploads.record_fetch(staged->at(0).upload);
  (void)desk.uploads.ack(other, id).take();
  EXPECT_FALSE(desk.uploads.find(kOperator, workspace, id)->upload.fetched_at);
  desk.clock.advance(std::chrono::hours(24));
  for (const Principal& who : {agent, sender, admin}) expect_gone(desk.uploads.open(who, workspace, id));
}

TEST_F(UploadsTest, WhoMayOpenAFileAndUntilWhen) {
  const Upload waiting = upload();
  for (const Principal& who : {agent, sender, admin}) {
    const auto open = desk.uploads.open(who, workspace, waiting.id);
    ASSERT_TRUE(open.has_value());
    EXPECT_EQ(content(*open), "hello");
  }
  expect_gone(desk.uploads.open(admin, other, waiting.id));
  expect_gone(desk.uploads.open(admin, workspace, FileId::make(kStart)));

  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take());
  expect_gone(desk.uploads.open(agent, workspace, waiting.id));
  EXPECT_TRUE(desk.uploads.open(sender, workspace, waiting.id)) << "people see what was delivered";
  EXPECT_TRUE(desk.uploads.open(admin, workspace, waiting.id));
  expect_gone(desk.uploads.open({Role::sender, other, {}, false}, workspace, waiting.id));

  const Upload late = upload();
  desk.clock.advance(std::chrono::hours(24) - std::chrono::microseconds(1));
  EXPECT_TRUE(desk.uploads.open(agent, workspace, late.id));
  desk.clock.advance(std::chrono::microseconds(1));
  for (const Principal& who : {agent, sender, admin}) expect_gone(desk.uploads.open(who, workspace, late.id));
}

TEST_F(UploadsTest, WhileTheClockIsInDoubtAFileThatWaitsCanBeDownloaded) {
  const Upload waiting = upload();
  const Time trusted = desk.clock.now();
  desk.clock.jump(std::chrono::hours(40 * 24));
  expect_gone(desk.uploads.open(agent, workspace, waiting.id));
  desk.clock.doubt(trusted);
  EXPECT_TRUE(desk.uploads.open(agent, workspace, waiting.id));
}

TEST_F(UploadsTest, WhileTheClockIsInDoubtAFileThatWaitsCanBeAckedAndTheAckHasItsOwnTime) {
  const Upload acked = upload();
  const Upload failed = upload();
  const Upload recalled = upload();
  const Time trusted = desk.clock.now();
  desk.clock.jump(std::chrono::hours(40 * 24));
  desk.clock.doubt(trusted);
  const auto ack = desk.uploads.ack(workspace, acked.id).take();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->upload.acked_at, desk.clock.now());
  const auto failure = desk.uploads.fail(workspace, failed.id, "no room").take();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->upload.failed_at, desk.clock.now());
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, recalled.id).take());
}

TEST_F(UploadsTest, OpeningIsNoFetchAndAFetchUpdatesItsTime) {
  const Upload waiting = upload();
  const auto fetched_at = [&] { return desk.uploads.find(kOperator, workspace, waiting.id)->upload.fetched_at; };
  for (const Principal& who : {agent, sender, admin}) (void)desk.uploads.open(who, workspace, waiting.id);
  EXPECT_FALSE(fetched_at());
  desk.uploads.record_fetch(waiting);
  // A later write has ended: the writer keeps the order.
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart);
  desk.clock.advance(std::chrono::seconds(5));
  desk.uploads.record_fetch(waiting);
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart + std::chrono::seconds(5));
}

TEST_F(UploadsTest, RepeatedAcksAppendOneReceipt) {
  const Upload waiting = upload();
  const auto first = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->upload.acked_at, kStart);
  desk.clock.advance(std::chrono::seconds(9));
  const auto again = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->upload.acked_at, kStart);
  EXPECT_EQ(desk.inbox_of(workspace).size(), 2u) << "the upload and one receipt";
  EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 10).size(), 0u);
}

TEST_F(UploadsTest, AnAckOfAForeignOrExpiredFileIsGone) {
  const Upload waiting = upload();
  EXPECT_TRUE(desk.uploads.ack(other, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.ack(workspace, FileId::make(kStart)).take().error().is(errors::upload_gone));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_FALSE(desk.uploads.find(kOperator, workspace, waiting.id)->upload.acked_at);
}

TEST_F(UploadsTest, WaitingListsTheUnackedOldestFirstPageByPage) {
  std::vector<FileId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(upload().id);
    desk.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_TRUE(desk.uploads.ack(workspace, ids[1]).take());
  const auto page = desk.uploads.waiting(kOperator, workspace, {}, 2);
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, ids[0]);
  EXPECT_EQ(page[1].id, ids[2]);
  const auto rest = desk.uploads.waiting(kOperator, workspace, page[1].id, 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].id, ids[3]);
}

TEST_F(UploadsTest, AckedFilesStayReadableForTheAgentIfTheOperatorAllowsIt) {
  UploadRules rules;
  rules.acked_content = AckedContent::everyone;
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
  const Upload taken = upload();
  EXPECT_TRUE(uploads.ack(workspace, taken.id).take());
  const auto open = uploads.open(agent, workspace, taken.id);
  ASSERT_TRUE(open.has_value());
  uploads.record_fetch(open->upload);
  (void)uploads.ack(other, taken.id).take();
  EXPECT_FALSE(uploads.find(kOperator, workspace, taken.id)->upload.fetched_at) << "reading an acked file is no fetch";
}

// Content in memory or an open descriptor: an open file is complete, whatever the sweep does meanwhile.
TEST_F(UploadsTest, AnOpenFileIsReadToItsEndAlthoughItIsSweptMeanwhile) {
  for (const std::string& bytes : {std::string("small"), big}) {
    const Upload doomed = upload("f", bytes);
    const auto open = desk.uploads.open(agent, workspace, doomed.id);
    ASSERT_TRUE(open.has_value());
    desk.clock.advance(std::chrono::hours(25));
    EXPECT_EQ(desk.sweep.run_once()->expired, 1);
    EXPECT_EQ(content(*open), bytes);
    expect_gone(desk.uploads.open(agent, workspace, doomed.id));
  }
  EXPECT_EQ(desk.blob_files(), 0u);
}

TEST_F(UploadsTest, AFileThatIsSweptWhileItIsOpenedIsGoneAndNotDamaged) {
  HookedBlobs blobs(*desk.blobs);
  Places places = desk.over(blobs);
  Uploads uploads(*desk.store, places, desk.event_bus, desk.clock, desk.log, desk.metrics, {});
  const Upload late = upload("a.txt", big);
  desk.clock.advance(std::chrono::hours(24) - std::chrono::seconds(1));
  blobs.opening = [&] {
    desk.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(desk.sweep.run_once()->blobs, 1);
  };
  expect_gone(uploads.open(agent, workspace, late.id));
  EXPECT_EQ(uploads.find(agent, workspace, late.id)->state, UploadState::expired);
}

TEST_F(UploadsTest, AFetchOfADeletedFileIsNotPublished) {
  const Upload recalled = upload();
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, recalled.id).take());
  desk.uploads.record_fetch(recalled);
  (void)desk.uploads.ack(other, recalled.id).take();  // a later write: the writer keeps the order
  EXPECT_EQ(desk.metrics.uploads_fetched.Value(), 0);
}

TEST_F(UploadsTest, AFailureIsKeptWithItsReasonAndALaterAckWins) {
  const Upload waiting = upload();
  EXPECT_TRUE(desk.uploads.fail(workspace, waiting.id, "no room").take()->receipt);
  EXPECT_FALSE(desk.uploads.fail(workspace, waiting.id, "no room").take()->receipt);
  EXPECT_FALSE(desk.uploads.fail(workspace, waiting.id, "").take()->receipt) << "an empty reason is not a new one";
  auto upload_status = desk.uploads.find(kOperator, workspace, waiting.id);
  EXPECT_EQ(upload_status->state, UploadState::failed);
  EXPECT_EQ(upload_status->upload.reason, "no room");
  EXPECT_TRUE(desk.uploads.open(agent, workspace, waiting.id)) << "it is kept until it expires";
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take());
  EXPECT_EQ(desk.uploads.find(kOperator, workspace, waiting.id)->state, UploadState::acked);
  EXPECT_TRUE(desk.uploads.fail(other, waiting.id, "").take().error().is(errors::upload_gone));
}

TEST_F(UploadsTest, OnlyTheOperatorAndTheStagerMayRecall) {
  const auto by_sender = [&] {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, sender);
    add(**staging, "f", "x");
    return (*staging)->commit().take()->at(0).upload.id;
  };
  const FileId mine = by_sender();
  const Principal another{Role::sender, workspace, TokenId::make(kStart), false};
  EXPECT_TRUE(desk.uploads.recall(another, workspace, mine).take().error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.recall(sender, workspace, mine).take());
  EXPECT_EQ(desk.uploads.find(kOperator, workspace, mine)->state, UploadState::recalled);
  expect_gone(desk.uploads.open(admin, workspace, mine));
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, by_sender()).take());
  const FileId taken = by_sender();
  EXPECT_TRUE(desk.uploads.ack(workspace, taken).take());
  EXPECT_TRUE(desk.uploads.recall(sender, workspace, taken).take().error().is(errors::upload_already_acked));
}

TEST_F(UploadsTest, ASenderIsTheSamePersonWithTokenAndSession) {
  Principal session = sender;
  session.by_session = true;
  session.token_id = TokenId::make(kStart);
  session.opened_by = sender.token_id;
  auto staging = desk.uploads.stage(workspace, UploadDirection::in, session);
  add(**staging, "f", "x");
  const FileId mine = (*staging)->commit().take()->at(0).upload.id;
  Principal later = session;
  later.token_id = TokenId::make(kStart);
  EXPECT_TRUE(desk.uploads.recall(later, workspace, mine).take());
}

// A step is published once it is durable; a step that changed nothing is not published.
TEST_F(UploadsTest, EveryStepIsCountedAndPublishedOnce) {
  const EventBus::EventSubscription watch(desk.event_bus);
  const Upload first = upload();
  desk.uploads.record_fetch(first);
  EXPECT_TRUE(desk.uploads.ack(workspace, first.id).take());
  EXPECT_TRUE(desk.uploads.ack(workspace, first.id).take());
  const Upload second = upload();
  EXPECT_TRUE(desk.uploads.fail(workspace, second.id, "why").take());
  EXPECT_TRUE(desk.uploads.fail(workspace, second.id, "why").take());
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, second.id).take());
  EXPECT_EQ(desk.metrics.uploads_staged.Value(), 2);
  EXPECT_EQ(desk.metrics.uploads_staged_bytes.Value(), 10);
  EXPECT_EQ(desk.metrics.uploads_fetched.Value(), 1);
  EXPECT_EQ(desk.metrics.uploads_acked.Value(), 1);
  EXPECT_EQ(desk.metrics.uploads_failed.Value(), 1);
  EXPECT_EQ(desk.metrics.uploads_recalled.Value(), 1);
  std::vector<std::string> published;
  for (const LiveEvent& item : desk.event_bus.since(0, workspace).items) published.push_back(item.name);
  EXPECT_EQ(published, (std::vector<std::string>{"", "UPLOAD_FETCHED", "", "", "", ""})) << "inbox rows have no name";
}

}  // namespace
}  // namespace restante::desk
