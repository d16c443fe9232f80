#include "desk/uploads/staging.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include "desk/uploads/test_uploads.h"
#include "model/errors.h"
#include "store/test_blobs.h"

namespace restante::desk {
namespace {

using StagingTest = TestUploads;

TEST_F(StagingTest, AreStagedInOrderWithTheirRowsAndRing) {
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
  EXPECT_EQ(desk.inbox_of(workspace).size(), 2u);
  EXPECT_EQ(desk.blob_files(), 1u) << "the small one is stored in its row";
  EXPECT_EQ(desk.bell.rung(2), std::vector<std::string>(2, topic_of(workspace))) << "a ring for each row";
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(0).upload.id)), "first");
  EXPECT_EQ(content(*desk.uploads.open(agent, workspace, staged->at(1).upload.id)), big);
}

TEST_F(StagingTest, AThirdFileThatIsTooLargeLeavesNothingOfTheOthers) {
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

TEST_F(StagingTest, AnAbortedRequestLeavesNothing) {
  {
    const auto staging = stage();
    add(*staging, "one", big);
    EXPECT_TRUE(staging->begin_file("two", "").has_value());
    EXPECT_TRUE(staging->write(big).has_value());
    EXPECT_EQ(desk.blob_files(), 1u);
  }
  expect_nothing();
}

TEST_F(StagingTest, ANamedEmptyFileIsAnErrorThatNamesItAndLeavesNothing) {
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

TEST_F(StagingTest, ANamelessEmptyOneIsSkippedAndOneWithBytesKept) {
  const auto staging = stage();
  add(*staging, "", "");
  add(*staging, "", "bytes");
  add(*staging, "", "");
  const auto staged = staging->commit().take();
  ASSERT_TRUE(staged.has_value());
  ASSERT_EQ(staged->size(), 1u);
  EXPECT_EQ(staged->at(0).upload.name, "file");
}

TEST_F(StagingTest, NoFileAtAllIsAnError) {
  const auto staging = stage();
  add(*staging, "", "");
  const auto refused = staging->commit().take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(errors::no_files));
  EXPECT_TRUE(desk.bell.rung(0).empty());
}

TEST_F(StagingTest, UnderAClaimOnlyTheFirstRequestStages) {
  const Claim claim{sha256("scope"), sha256("request"), kStart + std::chrono::hours(25)};
  const auto once = [&](std::string_view bytes) {
    const auto staging = stage();
    add(*staging, bytes.empty() ? "" : "f", bytes);
    const auto render = [](const std::vector<StagedUpload>& staged) { return staged.at(0).upload.id.text(); };
    return staging->commit(ClaimedAnswer<std::vector<StagedUpload>>{claim, render}).take();
  };
  EXPECT_TRUE(once("").error().is(errors::no_files)) << "a refusal takes no claim";
  const auto first = once("hello");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(desk.bell.rung(1).size(), 1u);
  const auto again = once("hello");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(*earlier_answer(again.error()), first->at(0).upload.id.text());
  EXPECT_TRUE(desk.bell.rung(0).empty());
  EXPECT_EQ(desk.metrics.uploads_staged.Value(), 1);
  EXPECT_EQ(desk.inbox_of(workspace).size(), 1u);
}

TEST_F(StagingTest, ARepeatedRequestLeavesNoBytesOfItsOwn) {
  const Claim claim{sha256("scope"), sha256("request"), kStart + std::chrono::hours(25)};
  const auto once = [&] {
    const auto staging = stage();
    add(*staging, "f", big);
    const auto render = [](const std::vector<StagedUpload>&) { return std::string("answer"); };
    return staging->commit(ClaimedAnswer<std::vector<StagedUpload>>{claim, render}).take();
  };
  ASSERT_TRUE(once());
  ASSERT_FALSE(once());
  EXPECT_EQ(desk.blob_files(), 1u);
}

TEST_F(StagingTest, OneFileMoreThanTheLimitIsRefusedWithTheLimit) {
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

TEST_F(StagingTest, AreOnlyStagedForAnExistingWorkspace) {
  auto staging = desk.uploads.stage(WorkspaceId::make(kStart), UploadDirection::in, admin);
  add(**staging, "one", big);
  const auto refused = (*staging)->commit().take();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(errors::workspace_not_found));
  (*staging)->give_up();
  EXPECT_EQ(desk.blob_files(), 0u);
}

// 16 KiB: with one byte more the content is in a separate file, whatever the size of the pieces.
TEST_F(StagingTest, AFileGoesToBlobsFromTheByteThatNoLongerFitsItsRow) {
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

TEST_F(StagingTest, TheSameFilesHaveTheSameDigestAndOthersAnother) {
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
  EXPECT_EQ(digest({one}), digest({{"a/one", "text/plain; charset=utf-8", "1"}})) << "as they are stored";
}

TEST_F(StagingTest, BeyondTheQuotaNothingIsStagedAndTheBlobsAreDeleted) {
  UploadRules rules;
  rules.quota = {70'000, 3};
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
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
  EXPECT_EQ(desk.inbox_of(workspace).size(), 3u);
  EXPECT_TRUE(uploads.recall(admin, workspace, uploads.waiting(kOperator, workspace, {}, 1).at(0).id).take());
  EXPECT_TRUE(try_one("x")) << "a deleted file frees its quota";
}

TEST_F(StagingTest, AreRefusedWhileTheDiskIsNearlyFullAndOthersStillReadAndAck) {
  const Upload waiting = upload();
  std::uint64_t room = 1000;
  UploadRules rules;
  rules.reserve = 1000;
  rules.free_after = [&](std::uint64_t) { return room; };
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin));
  room = 999;
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin).error().is(errors::insufficient_storage));
  EXPECT_TRUE(uploads.open(agent, workspace, waiting.id));
  EXPECT_TRUE(uploads.ack(workspace, waiting.id).take());
}

// Acked files do not count for the quota and stay on the disk until they are swept. Only the reserve keeps the disk
// from filling up.
TEST_F(StagingTest, AckedFilesDoNotCountForTheQuotaButStillUseTheDisk) {
  UploadRules rules;
  rules.quota = {0, 1};
  rules.reserve = 1000;
  rules.free_after = [&](std::uint64_t) { return 1003 - desk.blob_files(); };
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
  for (int i = 0; i < 4; ++i) {
    const auto staging = uploads.stage(workspace, UploadDirection::in, admin);
    ASSERT_TRUE(staging.has_value()) << i;
    add(**staging, "f", big);
    const auto staged = (*staging)->commit().take();
    ASSERT_TRUE(staged.has_value()) << i;
    EXPECT_TRUE(uploads.ack(workspace, staged->at(0).upload.id).take());
  }
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin).error().is(errors::insufficient_storage));
  desk.clock.advance(std::chrono::hours(1));
  EXPECT_EQ(desk.sweep.run_once()->acked, 4);
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin));
}

TEST_F(StagingTest, ADiskThatFillsUpEndsARunningUpload) {
  std::uint64_t room = 1000;
  UploadRules rules;
  rules.reserve = 1000;
  rules.free_after = [&](std::uint64_t) { return room; };
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
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

TEST_F(StagingTest, AreRefusedWhenStagingIsSwitchedOff) {
  UploadRules rules;
  rules.staging = false;
  Uploads uploads(*desk.store, desk.places, desk.event_bus, desk.clock, desk.log, desk.metrics, rules);
  EXPECT_TRUE(uploads.stage(workspace, UploadDirection::in, admin).error().is(errors::no_callback));
}

TEST_F(StagingTest, RememberWhichSenderStagedThem) {
  const auto staged_by = [&](const Principal& who) {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, who);
    add(**staging, "f", "x");
    return (*staging)->commit().take()->at(0).upload.staged_by;
  };
  EXPECT_EQ(staged_by(sender), sender.token_id);
  EXPECT_FALSE(staged_by(admin));
}

// The destructor of an aborted request runs inside the server. The sweep deletes later what it cannot delete.
TEST_F(StagingTest, ABlobThatCannotBeDeletedDoesNotEndTheServer) {
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
  EXPECT_EQ(desk.inbox_of(workspace).size(), 0u);
}

TEST_F(StagingTest, NoFailureWhileTheBlobsOfARequestAreDeletedEndsTheServer) {
  const std::function<void()> kFailures[] = {[] { throw std::bad_alloc(); }, [] { throw Unavailable("gone"); },
                                             [] { throw "not an exception class"; }};
  for (const auto& failure : kFailures) {
    HookedBlobs blobs(*desk.blobs);
    blobs.dropping = [&, dropped = std::make_shared<int>(0)] {
      if ((*dropped)++ == 0) failure();
    };
    Places place = desk.over(blobs);
    Uploads uploads(*desk.store, place, desk.event_bus, desk.clock, desk.log, desk.metrics, {});
    const auto before = desk.blob_files();
    {
      const auto staging = uploads.stage(workspace, UploadDirection::in, admin);
      add(**staging, "one", big);
      add(**staging, "two", big);
      EXPECT_EQ(desk.blob_files(), before + 2);
    }
    EXPECT_EQ(desk.blob_files(), before + 1) << "the other one is still deleted";
  }
}

// Fails after so many calls of write and finish.
template <class Failure>
void let_fail(HookedBlobs& blobs, int calls) {
  blobs.writing = blobs.finishing = [calls_left = std::make_shared<int>(calls)] {
    if ((*calls_left)-- <= 0) throw Failure("it fails");
  };
}

TEST_F(StagingTest, APlaceThatFailsAtAnyMomentLeavesNothingOfTheRequest) {
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
    HookedBlobs full(*desk.blobs);
    HookedBlobs broken(*desk.blobs);
    let_fail<StorageFull>(full, calls);
    let_fail<Unavailable>(broken, calls);
    Places full_place = desk.over(full);
    Places broken_place = desk.over(broken);
    Uploads on_full(*desk.store, full_place, desk.event_bus, desk.clock, desk.log, desk.metrics, {});
    Uploads on_broken(*desk.store, broken_place, desk.event_bus, desk.clock, desk.log, desk.metrics, {});
    EXPECT_THROW(attempt(on_full), StorageFull) << calls;
    EXPECT_THROW(attempt(on_broken), Unavailable) << calls;
    expect_nothing();
  }
}

}  // namespace
}  // namespace restante::desk
