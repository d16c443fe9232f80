#include <algorithm>

#include "desk/blob_moves/test_blob_moves.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(BlobMovesTest, ACopyThatIsMissingAtTheEndIsCopiedAgainBeforeTheOldBlobIsDeleted) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  std::filesystem::remove(file_of(row(some[1]).blob_key));
  std::filesystem::resize_file(file_of(row(some[2]).blob_key), 100);
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 4);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  EXPECT_EQ(moves.progress().failures, 2);
  EXPECT_NE(moves.progress().last_failure.find("copied again"), std::string::npos) << moves.progress().last_failure;
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 6) << "four old ones, and the two bad copies";
  for (const Upload& one : some) {
    EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
    expect_readable(one);
  }
  EXPECT_EQ(near_files(), 0u);
  EXPECT_EQ(far_files(), 4u);
}

// The new place lost all its files, as after a disk was replaced. A file keeps its old blob until it has been copied
// again.
TEST_F(BlobMovesTest, WhileTheNewPlaceIsEmptyNothingIsDeletedInTheOldOne) {
  const auto some = stage_some(40);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 3);
  for (const Upload& one : some) std::filesystem::remove(file_of(row(one).blob_key));
  ASSERT_TRUE(moves.finish().has_value());
  far.putting = [] { throw Unavailable("read only"); };
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finishing);
  desk.clock.advance(minutes(2));
  ASSERT_TRUE(sweep.run_once().has_value());
  EXPECT_EQ(near_files(), 40u);
  for (const Upload& one : some) expect_readable(one);
  far.putting = nullptr;
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  ASSERT_TRUE(sweep.run_once().has_value());
  EXPECT_EQ(near_files(), 0u);
  for (const Upload& one : some) expect_readable(one);
}

TEST_F(BlobMovesTest, WhileTheNewPlaceCannotBeReadNothingIsDeletedInTheOldOne) {
  const auto some = stage_some(5);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.finish().has_value());
  far_down = true;
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finishing);
  EXPECT_EQ(moves.progress().last_failure, "the bucket is unreachable");
  for (const Upload& one : some) EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
  EXPECT_EQ(sweep.run_once()->blobs, 0);
  far_down = false;
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  for (const Upload& one : some) EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
}

// One object that cannot be read does not delay the others, but it delays the end.
TEST_F(BlobMovesTest, AFileThatCannotBeReadStaysInBothPlacesUntilItCan) {
  const auto some = stage_some(5);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.finish().has_value());
  int asked = 0;
  far.opening = [&] {
    if (++asked == 1) throw Unavailable("500 InternalError");
  };
  moves.tick();
  std::size_t doubled = 0;
  for (const Upload& one : some) doubled += places_of(one).size() == 2;
  EXPECT_EQ(doubled, 1u);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finishing);
  desk.clock.advance(seconds(10));
  tick(moves, 2);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  for (const Upload& one : some) EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
}

TEST_F(BlobMovesTest, AMoveToAnUnreachablePlaceCannotBeFinished) {
  stage_some(2);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  std::filesystem::rename(desk.folder.path() / "bucket", desk.folder.path() / "taken away");
  const auto away = moves.finish();
  ASSERT_FALSE(away.has_value());
  EXPECT_TRUE(away.error().is(errors::blob_place_unusable)) << away.error().code();
  Places without({{Place::dir, *desk.blobs}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves other(*desk.store, without, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  EXPECT_TRUE(other.finish().error().is(errors::blob_place_unusable));
  tick(moves, 2);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::both);
  std::filesystem::rename(desk.folder.path() / "taken away", desk.folder.path() / "bucket");
  EXPECT_TRUE(moves.finish().has_value());
}

TEST_F(BlobMovesTest, AMissingCopyIsReadFromTheOtherPlaceAndCopiedAgain) {
  const Upload one = stage(some_bytes());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  std::filesystem::remove(file_of(row(one).blob_key));
  expect_readable(one);
  EXPECT_EQ(desk.metrics.blob_fallbacks.Value(), 1);
  uploads.integrity().tick();
  EXPECT_EQ(row(one).keys(), one.keys()) << "the good copy is the only one";
  EXPECT_FALSE(row(one).damage);
  tick(moves, 2);
  EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
  spoil(file_of(row(one).blob_key));
  uploads.integrity().suspect(row(one));
  uploads.integrity().tick();
  EXPECT_FALSE(row(one).damage);
  tick(moves, 2);
  expect_readable(one);
  spoil(file_of(row(one).blob_key));
  spoil(file_of(row(one).twin_key));
  uploads.integrity().suspect(row(one));
  uploads.integrity().tick();
  EXPECT_EQ(row(one).damage, UploadDamage::changed) << "no copy is right";
}

TEST_F(BlobMovesTest, ADamagedCopyIsCopiedAgainBeforeTheOldBlobIsDeleted) {
  const auto some = stage_some(3);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  const std::string rotten = row(some[1]).blob_key;
  spoil(file_of(rotten));
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 4);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  EXPECT_EQ(moves.progress().failures, 1);
  EXPECT_EQ(moves.progress().last_failure, "its copy in \"s3\" is damaged; it is copied again");
  EXPECT_NE(row(some[1]).blob_key, rotten);
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 4) << "three old ones, and the bad copy";
  for (const Upload& one : some) {
    EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
    expect_readable(one);
  }
  EXPECT_EQ(far_files(), 3u);
}

TEST_F(BlobMovesTest, AFileWithoutARightCopyStaysInBothPlacesUntilItIsMarkedAndDoesNotDelayTheEnd) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  for (const int lost : {1, 2}) {
    spoil(file_of(row(some[lost]).blob_key));
    spoil(file_of(row(some[lost]).twin_key));
  }
  std::filesystem::remove(file_of(row(some[2]).blob_key));
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 3);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finishing);
  EXPECT_EQ(places_of(some[0]), std::set<std::string>{"s3"});
  for (const int lost : {1, 2}) EXPECT_EQ(places_of(some[lost]).size(), 2u) << "not yet known to be lost";
  uploads.integrity().tick();
  tick(moves, 3);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  for (const int lost : {1, 2}) EXPECT_EQ(row(some[lost]).damage, UploadDamage::changed);
  EXPECT_EQ(places_of(some[1]), std::set<std::string>{"s3"});
  EXPECT_EQ(places_of(some[2]), std::set<std::string>{"dir"}) << "the place that still has a copy";
  expect_readable(some[3]);
}

TEST_F(BlobMovesTest, ReadingCopiesBeforeOldBlobsAreDeletedCountsForTheRate) {
  const auto some = stage_some(10);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.begin(Place::s3, 20'000));
  ASSERT_TRUE(moves.finish().has_value());
  const auto left = [&] {
    return std::ranges::count_if(some, [&](const Upload& one) { return places_of(one).size() == 2; });
  };
  for (int second = 0; second < 4; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_GE(left(), 5);
  EXPECT_LE(left(), 8);
  for (int second = 0; second < 20; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
}

// The part that was read so far decides nothing.
TEST_F(BlobMovesTest, AStopWhileACopyIsReadAgainDecidesNothing) {
  const auto some = stage_some(3);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.finish().has_value());
  far.opening = [&] { moves.stop(); };
  tick(moves, 3);
  EXPECT_EQ(moves.progress().failures, 0);
  for (const Upload& one : some) EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
}

}  // namespace
}  // namespace restante::desk
