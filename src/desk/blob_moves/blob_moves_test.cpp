#include "desk/blob_moves/blob_moves.h"

#include "desk/blob_moves/test_blob_moves.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Step = BegunBlobMove::Step;

TEST_F(BlobMovesTest, AllFilesAreMovedAndVerifiedAndTheOldPlaceIsEmptyAtTheEnd) {
  const auto old = stage_some(5);
  const Upload small = stage("stays in its row");
  EXPECT_EQ(moves.begin(Place::s3, 0)->step, Step::begun);
  const auto fresh = stage_some(2);
  for (const Upload& one : fresh) EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
  EXPECT_EQ(moves.progress().left_files, 5);
  const auto early = moves.finish();
  ASSERT_FALSE(early.has_value());
  EXPECT_TRUE(early.error().is(errors::blob_move_unfinished));
  EXPECT_EQ(std::get<std::int64_t>(early.error().facts().at(0).value), 5);
  tick(moves, 3);
  for (const Upload& one : old) {
    EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
    EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
    expect_readable(one);
  }
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 5);
  EXPECT_EQ(moves.progress().left_files, 0);
  EXPECT_EQ(near_files(), 7u) << "nothing is deleted yet";
  ASSERT_TRUE(moves.finish().has_value());
  ASSERT_TRUE(moves.finish().has_value()) << "it may be repeated";
  EXPECT_EQ(places.plan(), (PlacePlan{Place::s3, {}}));
  tick(moves, 3);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  ASSERT_TRUE(moves.finish().has_value()) << "a script may repeat it";
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  for (const Upload& one : old) EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
  EXPECT_EQ(sweep.run_once()->blobs, 7);
  EXPECT_EQ(near_files(), 0u);
  EXPECT_EQ(far_files(), 7u);
  for (const Upload& one : old) expect_readable(one);
  for (const Upload& one : fresh) expect_readable(one);
  EXPECT_EQ(row(small).blob_key, "");
}

// A file without a second copy has an empty twin key, which must not be taken for a key in "dir".
TEST_F(BlobMovesTest, AMoveIntoTheDirectoryWorksLikeAnyOther) {
  places.set_plan({Place::s3, {}});
  const auto old = stage_some(3);
  EXPECT_EQ(moves.begin(Place::dir, 0)->step, Step::begun);
  tick(moves, 3);
  for (const Upload& one : old) {
    EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::dir);
    EXPECT_EQ(row(one).twin_key, one.blob_key);
    expect_readable(one);
  }
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 3);
  for (const Upload& one : old) {
    EXPECT_EQ(places_of(one), std::set<std::string>{"dir"});
    expect_readable(one);
  }
}

TEST_F(BlobMovesTest, AReversedMoveCopiesNothingTwice) {
  const auto old = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 3);
  const auto turned = moves.begin(Place::dir, 0);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->step, Step::turned);
  EXPECT_EQ(places.plan(), (PlacePlan{Place::dir, Place::s3}));
  tick(moves, 3);
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 4) << "on the way there, and none back";
  for (const Upload& one : old) {
    EXPECT_EQ(row(one).keys().key, one.blob_key) << "where it was";
    EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
  }
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 3);
  EXPECT_EQ(sweep.run_once()->blobs, 0) << "a request may still be reading an object";
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 4);
  EXPECT_EQ(far_files(), 0u);
  EXPECT_EQ(near_files(), 4u);
}

TEST_F(BlobMovesTest, APlaceThatIsNotSetUpOrDoesNotWorkIsRefusedWithWhatToDo) {
  const auto unknown = moves.begin(Place::inlined, 0);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().is(errors::blob_place_unusable));
  BlobMoves alone(*desk.store, desk.places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  const auto unset = alone.begin(Place::s3, 0);
  ASSERT_FALSE(unset);
  EXPECT_NE(unset.error().sentence().find("s3.bucket"), std::string::npos) << unset.error().sentence();
  EXPECT_TRUE(moves.begin(Place::dir, 0).error().is(errors::blob_move_needless));
  EXPECT_TRUE(moves.finish().error().is(errors::no_blob_move));
}

TEST_F(BlobMovesTest, OnlyOneAtATimeAndTheSameAgainSetsTheRate) {
  ASSERT_TRUE(moves.begin(Place::s3, 10));
  const auto again = moves.begin(Place::s3, 20);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->step, Step::repeated);
  EXPECT_EQ(moves.progress().move->rate, 20);
  ASSERT_TRUE(moves.begin(Place::s3, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 20) << "no rate was given";
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  EXPECT_EQ(moves.progress().move->rate, 0);
}

TEST_F(BlobMovesTest, WithoutARateANewMoveIsUnlimitedAndAReversedOneKeepsItsRate) {
  ASSERT_TRUE(moves.begin(Place::s3, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 0);
  ASSERT_TRUE(moves.begin(Place::s3, 30));
  ASSERT_TRUE(moves.begin(Place::dir, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 30);
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 2);
  ASSERT_TRUE(moves.begin(Place::s3, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 0) << "the rate was another move's";
}

// A bucket's access key may allow listing and nothing else.
TEST_F(BlobMovesTest, APlaceThatCannotBeWrittenReadOrDeletedFromIsRefused) {
  const auto refuse = [] { throw Unavailable("403 AccessDenied"); };
  for (std::function<void()> HookedBlobs::* hook :
       {&HookedBlobs::putting, &HookedBlobs::opening, &HookedBlobs::dropping}) {
    const auto was = std::exchange(far.*hook, refuse);
    const auto begun = moves.begin(Place::s3, 0);
    ASSERT_FALSE(begun);
    EXPECT_TRUE(begun.error().is(errors::blob_place_unusable));
    EXPECT_NE(begun.error().sentence().find("403 AccessDenied"), std::string::npos) << begun.error().sentence();
    EXPECT_FALSE(moves.progress().move);
    far.*hook = was;
  }
  const std::size_t left = far_files();
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  EXPECT_EQ(far_files(), left) << "the test file is deleted";
}

TEST_F(BlobMovesTest, NothingIsCopiedIntoTheReserveUntilThereIsFreeSpace) {
  const auto some = stage_some(3);
  bool room = false;
  std::set<Place> asked;
  BlobMoveRules rules = unhurried();
  rules.has_room = [&](Place to, std::int64_t bytes) {
    asked.insert(to);
    return room && bytes > 0;
  };
  BlobMoves careful(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  ASSERT_TRUE(careful.begin(Place::s3, 0));
  careful.tick();
  EXPECT_EQ(careful.progress().failures, 1) << "then it pauses";
  careful.tick();
  EXPECT_EQ(careful.progress().failures, 1);
  desk.clock.advance(seconds(10));
  tick(careful, 3);
  EXPECT_GT(careful.progress().failures, 1);
  EXPECT_NE(careful.progress().last_failure.find("reserve"), std::string::npos);
  EXPECT_EQ(careful.progress().left_files, 3);
  EXPECT_EQ(asked, std::set<Place>{Place::s3});
  room = true;
  tick(careful, 3);
  EXPECT_EQ(careful.progress().left_files, 0);
  for (const Upload& one : some) EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
}

TEST_F(BlobMovesTest, TheRateIsKept) {
  stage_some(10);
  ASSERT_TRUE(moves.begin(Place::s3, 20'000));
  for (int second = 0; second < 4; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  const double soon = desk.metrics.blob_move_files.Value();
  EXPECT_GE(soon, 1);
  EXPECT_LE(soon, 3) << "each is read twice: to be copied, and back";
  for (int second = 0; second < 40; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 10);
}

TEST_F(BlobMovesTest, ReadingForACopyThatFailedCountsForTheRateToo) {
  stage_some(10);
  ASSERT_TRUE(moves.begin(Place::s3, 20'000));
  far.finishing = [] { throw Unavailable("it took the bytes, and then did not want them"); };
  for (int second = 0; second < 10; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_GE(moves.progress().failures, 2);
  EXPECT_LE(moves.progress().failures, 11);
}

TEST_F(BlobMovesTest, ADamagedFileIsMarkedAndNotMovedAndDoesNotDelayTheEnd) {
  const auto some = stage_some(3);
  spoil(file_of(some[1].blob_key));
  std::filesystem::remove(file_of(some[2].blob_key));
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  for (int i = 0; i < 3; ++i) {
    tick(moves);
    uploads.integrity().tick();
  }
  EXPECT_EQ(row(some[1]).damage, UploadDamage::changed);
  EXPECT_EQ(row(some[2]).damage, UploadDamage::missing);
  EXPECT_EQ(far_files(), 1u);
  EXPECT_EQ(moves.progress().left_files, 0);
  EXPECT_EQ(moves.progress().failures, 2);
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 3);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  expect_readable(some[0]);
}

TEST_F(BlobMovesTest, AnUnreachablePlaceIsTriedAgain) {
  const auto some = stage_some(5);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far_down = true;
  tick(moves, 5);
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 0);
  EXPECT_GT(desk.metrics.blob_move_failures.Value(), 0);
  EXPECT_EQ(moves.progress().last_failure, "the bucket is unreachable");
  far_down = false;
  tick(moves, 5);
  for (const Upload& one : some) EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
  EXPECT_EQ(moves.progress().left_files, 0);
}

TEST_F(BlobMovesTest, ACopyThatDoesNotReadBackIsNotUsed) {
  const Upload one = stage(some_bytes());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  bool spoiled = false;
  far.opening = [&] {
    if (std::exchange(spoiled, true)) return;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(desk.folder.path() / "bucket")) {
      if (entry.is_regular_file()) spoil(entry.path());
    }
  };
  tick(moves);
  EXPECT_TRUE(spoiled);
  EXPECT_EQ(row(one).keys(), one.keys());
  EXPECT_EQ(far_files(), 0u);
  EXPECT_EQ(moves.progress().failures, 1);
  tick(moves, 2);
  EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
  EXPECT_EQ(far_files(), 1u);
}

TEST_F(BlobMovesTest, AFileThatIsDeletedWhileItIsCopiedLeavesNoCopy) {
  const Upload one = stage(some_bytes());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far.opening = [&] { EXPECT_TRUE(uploads.recall(kOperator, workspace, one.id).take()); };
  tick(moves);
  far.opening = nullptr;
  EXPECT_EQ(far_files(), 0u);
  EXPECT_EQ(sweep.run_once()->blobs, 1);
  EXPECT_EQ(near_files(), 0u);
}

TEST_F(BlobMovesTest, AnotherServerFollowsAndOnlyOneCopies) {
  stage_some(3);
  Places other_places({{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves other(*desk.store, other_places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  EXPECT_EQ(other_places.plan(), (PlacePlan{Place::dir, {}}));
  moves.tick();
  desk.clock.advance(seconds(1));
  other.tick();
  EXPECT_EQ(other_places.plan(), (PlacePlan{Place::s3, Place::dir}));
  EXPECT_EQ(other.progress().copied_files, 0);
  EXPECT_EQ(moves.progress().copied_files, 3);
  // The first server has died: after its lease the other one continues.
  places.set_plan({Place::dir, {}});
  stage_some(2);
  desk.clock.advance(seconds(31));
  other.tick();
  EXPECT_EQ(other.progress().copied_files, 2);
}

TEST_F(BlobMovesTest, AMoveThatWasBegunBeforeAppliesAtTheStartWhateverTheSettingIs) {
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  Places later({{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves again(*desk.store, later, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  EXPECT_EQ(later.plan(), (PlacePlan{Place::s3, Place::dir}));
  EXPECT_EQ(again.disagreement(), "");
  ASSERT_TRUE(again.finish().has_value());
  tick(again, 3);
  EXPECT_EQ(later.plan(), (PlacePlan{Place::s3, {}}));
  EXPECT_NE(again.disagreement().find("set blobs = \"s3\""), std::string::npos);
  BlobMoveRules s3_rules = unhurried();
  s3_rules.setting = Place::s3;
  BlobMoves agreed(*desk.store, later, uploads.integrity(), desk.clock, desk.log, desk.metrics, s3_rules);
  EXPECT_EQ(agreed.disagreement(), "");
}

// A slow request that began before the server read the new plan, and ends after the move.
TEST_F(BlobMovesTest, AFileThatIsWrittenToTheOldPlaceLateIsMovedToo) {
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 2);
  ASSERT_EQ(moves.progress().move->phase, BlobPhase::finished);
  places.set_plan({Place::dir, {}});
  const Upload late = stage(some_bytes());
  places.set_plan({Place::s3, Place::dir});
  const Upload doubled = stage(some_bytes());
  tick(moves, 4);
  EXPECT_EQ(places_of(late), std::set<std::string>{"s3"});
  EXPECT_EQ(places_of(doubled), std::set<std::string>{"s3"});
  EXPECT_EQ(sweep.run_once()->blobs, 2);
  EXPECT_EQ(near_files(), 0u);
  expect_readable(late);
}

// The search ends: a request that began before the end of the move does not run for ever.
TEST_F(BlobMovesTest, AfterTheLongestRequestNoLateWritesAreLookedFor) {
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 2);
  ASSERT_EQ(moves.progress().move->phase, BlobPhase::finished);
  desk.clock.advance(hours(1));
  tick(moves);
  places.set_plan({Place::dir, {}});
  const Upload late = stage(some_bytes());
  tick(moves, 4);
  EXPECT_EQ(places_of(late), std::set<std::string>{"dir"}) << "it was not searched for";
  // A server that starts searches at least once: another one may have died before it moved the file.
  BlobMoves started(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  desk.clock.advance(seconds(30));
  tick(started, 4);
  EXPECT_EQ(places_of(late), std::set<std::string>{"s3"});
}

TEST_F(BlobMovesTest, FilesOfAnEarlierSettingCanBeMovedToo) {
  stage_some(2);
  places.set_plan({Place::s3, {}});
  BlobMoveRules rules = unhurried();
  rules.setting = Place::s3;
  BlobMoves set_to_s3(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  const auto begun = set_to_s3.begin(Place::s3, 0);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->move.from, Place::dir);
}

TEST_F(BlobMovesTest, AServerThatIsAloneWaitsForNoLease) {
  stage_some(1);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  ASSERT_TRUE(desk.store->take_blob_move_lease(WorkerId::make(kStart), kStart + hours(1), kStart).take().value());
  tick(moves);
  EXPECT_EQ(moves.progress().copied_files, 0);
  BlobMoveRules rules = unhurried();
  rules.alone = true;
  BlobMoves alone(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  tick(alone);
  EXPECT_EQ(alone.progress().copied_files, 1);
}

TEST_F(BlobMovesTest, AfterAStopNothingMoreIsCopied) {
  stage_some(3);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far.opening = [&] { moves.stop(); };
  tick(moves, 3);
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 0);
  EXPECT_EQ(moves.progress().left_files, 3);
}

}  // namespace
}  // namespace restante::desk
