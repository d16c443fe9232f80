#include "desk/uploads.h"

#include <gtest/gtest.h>

#include <fstream>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;

class UploadsTest : public ::testing::Test {
 protected:
  static UploadRules small_rules() {
    UploadRules rules;
    rules.per_file_bytes = 100'000;
    rules.max_files = 3;
    return rules;
  }
  std::unique_ptr<Staging> stage() {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, admin);
    EXPECT_TRUE(staging.has_value());
    return std::move(*staging);
  }
  static void add(Staging& staging, std::string_view name, std::string_view bytes) {
    EXPECT_TRUE(staging.begin_file(name, "text/plain").has_value());
    if (!bytes.empty()) {
      EXPECT_TRUE(staging.write(bytes).has_value());
    }
    EXPECT_TRUE(staging.end_file().has_value());
  }
  Upload upload(std::string_view name = "a.txt", std::string_view bytes = "hello") {
    const auto staging = stage();
    add(*staging, name, bytes);
    auto staged = staging->commit().take();
    EXPECT_TRUE(staged.has_value());
    return staged->at(0).upload;
  }
  std::string content(const OpenUpload& open) {
    if (!open.blob) return open.content;
    std::string bytes(static_cast<std::size_t>(open.upload.size) + 10, '\0');
    const ssize_t n = ::pread(open.blob->fd(), bytes.data(), bytes.size(), 0);
    bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return bytes;
  }
  void expect_gone(const Result<OpenUpload>& open) {
    ASSERT_FALSE(open.has_value());
    EXPECT_TRUE(open.error().is(errors::upload_gone)) << open.error().code();
  }
  void expect_nothing() {
    EXPECT_EQ(desk.log_of(workspace).size(), 0u);
    EXPECT_EQ(desk.uploads.waiting(workspace, {}, 100).size(), 0u);
    EXPECT_EQ(desk.blob_files(), 0u);
  }

  TestDesk desk{small_rules()};
  const WorkspaceId workspace = desk.make_workspace();
  const WorkspaceId other = desk.make_workspace();
  const Principal agent{Role::workspace, workspace, {}, false};
  const Principal sender{Role::sender, workspace, TokenId::make(kStart), false};
  const Principal admin{Role::admin, {}, {}, false};
  const std::string big = std::string(20'000, 'x');  // too much for a row
};

TEST_F(UploadsTest, AreStagedInOrderWithTheirRowsAndRing) {
  const auto staging = stage();
  add(*staging, "../one.txt", "first");
  add(*staging, "two words.txt", big);
  const auto staged = staging->commit().take();
  ASSERT_TRUE(staged.has_value());
  ASSERT_EQ(staged->size(), 2u);
  EXPECT_EQ(staged->at(0).upload.name, "one.txt");
  EXPECT_EQ(staged->at(1).upload.name, "two_words.txt");
  EXPECT_EQ(staged->at(0).upload.size, 5);
  EXPECT_EQ(staged->at(0).upload.sha256, sha256("first"));
  EXPECT_EQ(staged->at(0).upload.expires_at, kStart + std::chrono::hours(24));
  EXPECT_EQ(desk.log_of(workspace).size(), 2u);
  EXPECT_EQ(desk.blob_files(), 1u) << "the small one lies in its row";
  EXPECT_EQ(desk.bell.rung(2), std::vector<std::string>(2, topic_of(workspace))) << "a ring for each row";
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(0).upload.id)), "first");
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(1).upload.id)), big);
}

TEST_F(UploadsTest, AThirdFileThatIsTooLargeLeavesNothingOfTheOthers) {
  {
    const auto staging = stage();
    add(*staging, "one", "1");
    add(*staging, "two", big);
    EXPECT_TRUE(staging->begin_file("three", "").has_value());
    EXPECT_TRUE(staging->write(std::string(100'000, 'x')).has_value()) << "exactly the cap passes";
    const auto refused = staging->write("x");
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::file_too_large));
    ASSERT_EQ(refused.error().facts().size(), 2u);
    EXPECT_EQ(std::get<std::string>(refused.error().facts()[0].value), "three");
    EXPECT_EQ(std::get<std::int64_t>(refused.error().facts()[1].value), 100'000);
  }
  expect_nothing();
}

TEST_F(UploadsTest, ARequestThatIsCutLeavesNothing) {
  {
    const auto staging = stage();
    add(*staging, "one", big);
    EXPECT_TRUE(staging->begin_file("two", "").has_value());
    EXPECT_TRUE(staging->write(big).has_value());
    EXPECT_EQ(desk.blob_files(), 1u);
  }
  expect_nothing();
}

TEST_F(UploadsTest, ANamedEmptyFileIsAnErrorThatNamesItAndLeavesNothing) {
  {
    const auto staging = stage();
    add(*staging, "one", big);
    EXPECT_TRUE(staging->begin_file("empty file.txt", "").has_value());
    const auto refused = staging->end_file();
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::empty_file));
    EXPECT_EQ(std::get<std::string>(refused.error().facts().at(0).value), "empty_file.txt");
  }
  expect_nothing();
}

TEST_F(UploadsTest, ANamelessEmptyOneIsSkippedAndOneWithBytesKept) {
  const auto staging = stage();
  add(*staging, "", "");
  add(*staging, "", "bytes");
  add(*staging, "", "");
  const auto staged = staging->commit().take();
  ASSERT_TRUE(staged.has_value());
  ASSERT_EQ(staged->size(), 1u);
  EXPECT_EQ(staged->at(0).upload.name, "file");
}

TEST_F(UploadsTest, NoFileAtAllIsAnError) {
  const auto staging = stage();
  add(*staging, "", "");
  const auto refused = staging->commit().take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(errors::no_files));
  EXPECT_TRUE(desk.bell.rung(0).empty());
}

TEST_F(UploadsTest, OneFileMoreThanTheLimitIsRefusedWithTheLimit) {
  {
    const auto staging = stage();
    for (int i = 0; i < 3; ++i) add(*staging, "f", "x");
    const auto refused = staging->begin_file("f", "");
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is(errors::too_many_files));
    EXPECT_EQ(refused.error().sentence(), "too many files (limit 3)");
  }
  expect_nothing();
}

TEST_F(UploadsTest, AreOnlyStagedForAWorkspaceThatIsThere) {
  auto staging = desk.uploads.stage(WorkspaceId::make(kStart), UploadDirection::in, admin);
  add(**staging, "one", big);
  const auto refused = (*staging)->commit().take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(errors::workspace_not_found));
  (*staging)->give_up();
  EXPECT_EQ(desk.blob_files(), 0u);
}

// 16 KiB: one byte more and the bytes are in a file of their own, whatever the pieces they came in.
TEST_F(UploadsTest, AFileGoesToBlobsFromTheByteThatNoLongerFitsItsRow) {
  const auto most = static_cast<std::size_t>(kMaxRowBytes);
  for (const std::size_t size : {std::size_t{1}, most - 1, most, most + 1, 3 * most}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
    for (const std::size_t piece : {std::size_t{7}, most - 1, most + 1, size}) {
      const std::size_t before = desk.blob_files();
      const auto staging = stage();
      EXPECT_TRUE(staging->begin_file("f", "").has_value());
      for (std::size_t at = 0; at < size; at += piece) {
        EXPECT_TRUE(staging->write(std::string_view(bytes).substr(at, piece)).has_value());
      }
      EXPECT_TRUE(staging->end_file().has_value());
      EXPECT_EQ(staging->on_disk(), size > most);
      const auto staged = staging->commit().take();
      ASSERT_TRUE(staged.has_value());
      EXPECT_EQ(desk.blob_files() - before, size > most ? 1u : 0u) << size << " in pieces of " << piece;
      EXPECT_EQ(staged->at(0).upload.sha256, sha256(bytes));
      EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(0).upload.id)), bytes);
    }
  }
}

TEST_F(UploadsTest, TheSameFilesHaveTheSameDigestAndOthersAnother) {
  struct File {
    std::string name, type, bytes;
  };
  const auto digest = [&](const std::vector<File>& files, UploadDirection direction = UploadDirection::in) {
    auto staging = desk.uploads.stage(workspace, direction, agent);
    for (const File& file : files) {
      EXPECT_TRUE((*staging)->begin_file(file.name, file.type).has_value());
      EXPECT_TRUE((*staging)->write(file.bytes).has_value());
      EXPECT_TRUE((*staging)->end_file().has_value());
    }
    return (*staging)->digest();
  };
  const File one{"one", "text/plain", "1"};
  const File two{"two", "text/plain", big};
  EXPECT_EQ(digest({one, two}), digest({one, two}));
  EXPECT_NE(digest({one, two}), digest({two, one})) << "order counts";
  EXPECT_NE(digest({one, two}), digest({one}));
  EXPECT_NE(digest({one}), digest({{"one", "text/html", "1"}}));
  EXPECT_NE(digest({one}), digest({{"other", "text/plain", "1"}}));
  EXPECT_NE(digest({one}), digest({{"one", "text/plain", "2"}}));
  EXPECT_NE(digest({one}), digest({one}, UploadDirection::out));
  EXPECT_EQ(digest({one}), digest({{"a/one", "text/plain; charset=utf-8", "1"}})) << "as they are kept";
}

TEST_F(UploadsTest, BeyondTheQuotaNothingIsStagedAndTheBytesGo) {
  UploadRules rules;
  rules.quota = {70'000, 3};
  Uploads uploads(*desk.store, *desk.blobs, desk.news, desk.clock, desk.log, desk.metrics, rules);
  const auto try_one = [&](std::string_view bytes) {
    auto staging = uploads.stage(workspace, UploadDirection::in, admin);
    add(**staging, "f", bytes);
    auto staged = (*staging)->commit().take();
    if (!staged) (*staging)->give_up();
    return staged;
  };
  EXPECT_TRUE(try_one(std::string(40'000, 'x')));
  const auto bytes = try_one(std::string(30'001, 'x'));
  ASSERT_FALSE(bytes.has_value());
  EXPECT_TRUE(bytes.error().is(errors::quota_exceeded));
  EXPECT_EQ(desk.blob_files(), 1u);
  EXPECT_TRUE(try_one(std::string(29'998, 'x'))) << "what fits is taken";
  EXPECT_TRUE(try_one("x"));
  EXPECT_TRUE(try_one("x").error().is(errors::quota_exceeded)) << "three files are enough";
  EXPECT_EQ(desk.log_of(workspace).size(), 3u);
  EXPECT_TRUE(uploads.recall(admin, workspace, uploads.waiting(workspace, {}, 1).at(0).id).take());
  EXPECT_TRUE(try_one("x")) << "what has left makes room";
}

TEST_F(UploadsTest, AreRefusedWhileTheDiskIsNearlyFullAndOthersStillReadAndAck) {
  const Upload waiting = upload();
  std::uint64_t room = 1000;
  UploadRules rules;
  rules.reserve = 1000;
  rules.free_bytes = [&] { return room; };
  Uploads uploads(*desk.store, *desk.blobs, desk.news, desk.clock, desk.log, desk.metrics, rules);
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin));
  room = 999;
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin).error().is(errors::insufficient_storage));
  EXPECT_TRUE(uploads.open(agent, workspace, waiting.id));
  EXPECT_TRUE(uploads.ack(workspace, waiting.id).take());
}

TEST_F(UploadsTest, ADiskThatFillsUpEndsAnUploadThatIsUnderWay) {
  std::uint64_t room = 1000;
  UploadRules rules;
  rules.reserve = 1000;
  rules.free_bytes = [&] { return room; };
  Uploads uploads(*desk.store, *desk.blobs, desk.news, desk.clock, desk.log, desk.metrics, rules);
  {
    const auto staging = uploads.stage(workspace, UploadDirection::in, admin);
    const std::string piece(256 << 10, 'x');
    EXPECT_TRUE((*staging)->begin_file("big", "").has_value());
    for (int i = 0; i < 4; ++i) EXPECT_TRUE((*staging)->write(piece).has_value());
    room = 999;
    Result<void> written;
    for (int i = 0; i < 5 && written.has_value(); ++i) written = (*staging)->write(piece);
    ASSERT_FALSE(written.has_value()) << "noticed within a mebibyte";
    EXPECT_TRUE(written.error().is(errors::insufficient_storage));
  }
  expect_nothing();
}

TEST_F(UploadsTest, AreNotTakenWhereStagingIsSwitchedOff) {
  UploadRules rules;
  rules.staging = false;
  Uploads uploads(*desk.store, *desk.blobs, desk.news, desk.clock, desk.log, desk.metrics, rules);
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin).error().is(errors::no_callback));
}

TEST_F(UploadsTest, RememberWhichSenderStagedThem) {
  const auto staged_by = [&](const Principal& who) {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, who);
    add(**staging, "f", "x");
    return (*staging)->commit().take()->at(0).upload.staged_by;
  };
  EXPECT_EQ(staged_by(sender), sender.token_id);
  EXPECT_FALSE(staged_by(admin));
}

TEST_F(UploadsTest, OutgoingOnesHaveNoInboxRowAreNotListedAndCanBeReadByItsMembers) {
  auto staging = desk.uploads.stage(workspace, UploadDirection::out, agent);
  add(**staging, "result.txt", "done");
  const auto staged = (*staging)->commit().take();
  ASSERT_TRUE(staged.has_value());
  const FileId id = staged->at(0).upload.id;
  EXPECT_EQ(desk.log_of(workspace).size(), 0u);
  EXPECT_TRUE(desk.bell.rung(0).empty());
  EXPECT_EQ(desk.uploads.waiting(workspace, {}, 10).size(), 0u);
  for (const Principal& who : {agent, sender, admin}) {
    EXPECT_EQ(content(*desk.uploads.open(who, workspace, id)), "done");
  }
  EXPECT_TRUE(desk.uploads.ack(workspace, id).take().error().is(errors::upload_gone));
  desk.uploads.note_fetched(staged->at(0).upload);
  (void)desk.uploads.ack(other, id).take();
  EXPECT_FALSE(desk.uploads.find(workspace, id)->upload.fetched_at);
  desk.clock.advance(std::chrono::hours(24));
  for (const Principal& who : {agent, sender, admin}) expect_gone(desk.uploads.open(who, workspace, id));
}

// The destructor of a cut request runs in the middle of the server: what it cannot remove is left for the sweep.
TEST_F(UploadsTest, BytesThatCannotBeRemovedDoNotEndTheServer) {
  const auto blobs = desk.folder.path() / "blobs";
  {
    const auto staging = stage();
    add(*staging, "one", big);
    std::filesystem::path shelf;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(blobs)) {
      if (entry.is_regular_file()) shelf = entry.path().parent_path();
    }
    std::filesystem::rename(shelf, blobs / "moved-away");
    std::ofstream(shelf) << "a file where a directory was";
  }
  EXPECT_EQ(desk.log_of(workspace).size(), 0u);
}

TEST_F(UploadsTest, OpenByWhoAndWhen) {
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

TEST_F(UploadsTest, ARowWhoseBytesAreLostIsGoneAndNotAnEmptyFile) {
  const Upload lost = upload("a", big);
  desk.blobs->drop(lost.blob_key);
  expect_gone(desk.uploads.open(agent, workspace, lost.id));
}

TEST_F(UploadsTest, OpeningIsNoFetchAndAFetchMovesItsTime) {
  const Upload waiting = upload();
  const auto fetched_at = [&] { return desk.uploads.find(workspace, waiting.id)->upload.fetched_at; };
  for (const Principal& who : {agent, sender, admin}) (void)desk.uploads.open(who, workspace, waiting.id);
  EXPECT_FALSE(fetched_at());
  desk.uploads.note_fetched(waiting);
  // A verb behind it: the writer keeps the order.
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart);
  desk.clock.advance(std::chrono::seconds(5));
  desk.uploads.note_fetched(waiting);
  (void)desk.uploads.ack(other, waiting.id).take();
  EXPECT_EQ(fetched_at(), kStart + std::chrono::seconds(5));
}

TEST_F(UploadsTest, AnAckIsOneReceiptHoweverOftenItComes) {
  const Upload waiting = upload();
  const auto first = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->upload.acked_at, kStart);
  desk.clock.advance(std::chrono::seconds(9));
  const auto again = desk.uploads.ack(workspace, waiting.id).take();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->upload.acked_at, kStart);
  EXPECT_EQ(desk.log_of(workspace).size(), 2u) << "the upload and one receipt";
  EXPECT_EQ(desk.uploads.waiting(workspace, {}, 10).size(), 0u);
}

TEST_F(UploadsTest, AnAckOfWhatIsNotOursOrTooLateIsGone) {
  const Upload waiting = upload();
  EXPECT_TRUE(desk.uploads.ack(other, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.ack(workspace, FileId::make(kStart)).take().error().is(errors::upload_gone));
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take().error().is(errors::upload_gone));
  EXPECT_FALSE(desk.uploads.find(workspace, waiting.id)->upload.acked_at);
}

TEST_F(UploadsTest, WaitingListsTheUnackedOldestFirstPageByPage) {
  std::vector<FileId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(upload().id);
    desk.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_TRUE(desk.uploads.ack(workspace, ids[1]).take());
  const auto page = desk.uploads.waiting(workspace, {}, 2);
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, ids[0]);
  EXPECT_EQ(page[1].id, ids[2]);
  const auto rest = desk.uploads.waiting(workspace, page[1].id, 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].id, ids[3]);
}

TEST_F(UploadsTest, AckedOnesStayReadableForTheAgentWhereTheOperatorSaysSo) {
  UploadRules rules;
  rules.acked_content = AckedContent::everyone;
  Uploads uploads(*desk.store, *desk.blobs, desk.news, desk.clock, desk.log, desk.metrics, rules);
  const Upload taken = upload();
  EXPECT_TRUE(uploads.ack(workspace, taken.id).take());
  const auto open = uploads.open(agent, workspace, taken.id);
  ASSERT_TRUE(open.has_value());
  uploads.note_fetched(open->upload);
  (void)uploads.ack(other, taken.id).take();
  EXPECT_FALSE(uploads.find(workspace, taken.id)->upload.fetched_at) << "no read of an acked one is a fetch";
}

// Bytes in memory or an open descriptor: what was opened is whole, whatever the sweep does meanwhile.
TEST_F(UploadsTest, WhatWasOpenedIsReadToItsEndAlthoughItIsSweptMeanwhile) {
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

TEST_F(UploadsTest, AFailureIsKeptWithItsReasonAndALaterAckWins) {
  const Upload waiting = upload();
  EXPECT_TRUE(desk.uploads.fail(workspace, waiting.id, "no room").take()->receipt);
  EXPECT_FALSE(desk.uploads.fail(workspace, waiting.id, "no room").take()->receipt);
  auto story = desk.uploads.find(workspace, waiting.id);
  EXPECT_EQ(story->state, UploadState::failed);
  EXPECT_EQ(story->upload.reason, "no room");
  EXPECT_TRUE(desk.uploads.open(agent, workspace, waiting.id)) << "it stays until its time";
  EXPECT_TRUE(desk.uploads.ack(workspace, waiting.id).take());
  EXPECT_EQ(desk.uploads.find(workspace, waiting.id)->state, UploadState::acked);
  EXPECT_TRUE(desk.uploads.fail(other, waiting.id, "").take().error().is(errors::upload_gone));
}

TEST_F(UploadsTest, ARecallIsForTheOperatorAndForWhoStagedIt) {
  const auto by_sender = [&] {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, sender);
    add(**staging, "f", "x");
    return (*staging)->commit().take()->at(0).upload.id;
  };
  const FileId mine = by_sender();
  const Principal another{Role::sender, workspace, TokenId::make(kStart), false};
  EXPECT_TRUE(desk.uploads.recall(another, workspace, mine).take().error().is(errors::upload_gone));
  EXPECT_TRUE(desk.uploads.recall(sender, workspace, mine).take());
  EXPECT_EQ(desk.uploads.find(workspace, mine)->state, UploadState::recalled);
  expect_gone(desk.uploads.open(admin, workspace, mine));
  EXPECT_TRUE(desk.uploads.recall(admin, workspace, by_sender()).take());
  const FileId taken = by_sender();
  EXPECT_TRUE(desk.uploads.ack(workspace, taken).take());
  EXPECT_TRUE(desk.uploads.recall(sender, workspace, taken).take().error().is(errors::upload_already_acked));
}

// What is told of a step is told once it is durable, and of what changed nothing, nothing.
TEST_F(UploadsTest, EveryStepIsCountedOnceAndTold) {
  const News::Watch watch(desk.news);
  const Upload first = upload();
  desk.uploads.note_fetched(first);
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
  std::vector<std::string> told;
  for (const NewsItem& item : desk.news.since(0, workspace).items) told.push_back(item.name);
  EXPECT_EQ(told, (std::vector<std::string>{"", "UPLOAD_FETCHED", "", "", "", ""})) << "rows of the log have no name";
}

// A place for bytes that gives out after so many writes.
class FailingBlobs final : public Blobs {
 public:
  FailingBlobs(Blobs& real, std::function<void()> fail) : real_(real), fail_(std::move(fail)) {}
  void check() override { real_.check(); }
  std::unique_ptr<BlobWriter> put() override { return std::make_unique<Writer>(*this, real_.put()); }
  std::shared_ptr<OpenBlob> open(std::string_view key) override { return real_.open(key); }
  void drop(std::string_view key) override { real_.drop(key); }
  BlobPage list(std::string_view from, Time before) override { return real_.list(from, before); }
  std::size_t drop_unfinished(Time before) override { return real_.drop_unfinished(before); }
  int calls_left = 0;

 private:
  struct Writer final : BlobWriter {
    Writer(FailingBlobs& o, std::unique_ptr<BlobWriter> w) : owner(o), real(std::move(w)) {}
    void write(std::string_view bytes) override {
      owner.step();
      real->write(bytes);
    }
    std::string finish() override {
      owner.step();
      return real->finish();
    }
    FailingBlobs& owner;
    std::unique_ptr<BlobWriter> real;
  };
  void step() {
    if (calls_left-- <= 0) fail_();
  }
  Blobs& real_;
  std::function<void()> fail_;
};

TEST_F(UploadsTest, APlaceThatFailsAtAnyMomentLeavesNothingOfTheRequest) {
  const auto attempt = [&](Uploads& uploads) {
    const auto staging = uploads.stage(workspace, UploadDirection::in, admin);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
      for (int n = 0; n < 3; ++n) EXPECT_TRUE((*staging)->write(big).has_value());
      EXPECT_TRUE((*staging)->end_file().has_value());
    }
    EXPECT_TRUE((*staging)->commit().take());
  };
  for (int calls = 0; calls < 8; ++calls) {
    FailingBlobs full(*desk.blobs, [] { throw StorageFull("full"); });
    FailingBlobs broken(*desk.blobs, [] { throw Unavailable("broken"); });
    full.calls_left = broken.calls_left = calls;
    Uploads on_full(*desk.store, full, desk.news, desk.clock, desk.log, desk.metrics, {});
    Uploads on_broken(*desk.store, broken, desk.news, desk.clock, desk.log, desk.metrics, {});
    EXPECT_THROW(attempt(on_full), StorageFull) << calls;
    EXPECT_THROW(attempt(on_broken), Unavailable) << calls;
    expect_nothing();
  }
}

}  // namespace
}  // namespace restante::desk
