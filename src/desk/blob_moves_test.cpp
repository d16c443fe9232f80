#include "desk/blob_moves.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "desk/test_blobs.h"
#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Step = BegunBlobMove::Step;

// A desk whose bytes may be in two places: files, and files elsewhere that stand for a bucket.
class BlobMovesTest : public ::testing::Test {
 protected:
  BlobMovesTest() {
    far.opening = [this] { require(far_down); }, far.dropping = [this] { require(far_down); };
  }
  static void require(bool down) {
    if (down) throw Unavailable("the bucket is gone");
  }
  static SweepRules quick() {
    SweepRules rules;
    rules.longest_request = minutes(1);
    return rules;
  }
  Upload stage(const std::string& bytes) {
    auto staging = uploads.stage(workspace, UploadDirection::in, kOperator);
    EXPECT_TRUE((*staging)->begin_file("f", "").has_value());
    EXPECT_TRUE((*staging)->write(bytes).has_value());
    EXPECT_TRUE((*staging)->end_file().has_value());
    return (*staging)->commit().take()->at(0).upload;
  }
  std::string some_bytes() { return std::string(20'000, 'x') + std::to_string(++made); }
  std::vector<Upload> stage_some(int count) {
    std::vector<Upload> all;
    for (int i = 0; i < count; ++i) all.push_back(stage(some_bytes()));
    return all;
  }
  Upload row(const Upload& upload) { return desk.store->find_upload(workspace, upload.id).value(); }
  std::set<std::string> places_of(const Upload& upload) {
    std::set<std::string> all;
    const Upload now = row(upload);
    for (const std::string& key : {now.blob_key, now.twin_key}) {
      if (!key.empty()) all.insert(std::string(name_of(parse_key(key)->place)));
    }
    return all;
  }
  void expect_readable(const Upload& upload) {
    const auto open = uploads.open(kOperator, workspace, upload.id);
    ASSERT_TRUE(open.has_value()) << open.error().code();
    std::string bytes(static_cast<std::size_t>(upload.size) + 1, '\0');
    bytes.resize(open->blob->read(0, bytes));
    EXPECT_EQ(sha256(bytes), upload.sha256);
  }
  void tick(BlobMoves& which, int times = 1) {
    for (int i = 0; i < times; ++i) {
      which.tick();
      desk.clock.advance(seconds(10));
    }
  }
  // Files on the disk, whatever they are.
  static std::size_t files_below(const std::filesystem::path& folder) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) files += entry.is_regular_file();
    return files;
  }
  std::size_t near_files() const { return files_below(desk.folder.path() / "blobs"); }
  std::size_t far_files() const { return files_below(desk.folder.path() / "bucket"); }
  std::filesystem::path file_of(const std::string& key) const {
    const auto placed = parse_key(key);
    const std::string bare(placed->bare);
    return desk.folder.path() / (placed->place == Place::dir ? "blobs" : "bucket") / bare.substr(30) / bare;
  }
  static void spoil(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out);
    file.seekp(7);
    file.put('!');
  }

  TestDesk desk;
  const WorkspaceId workspace = desk.make_workspace();
  int made = 0;
  bool far_down = false;
  std::unique_ptr<Blobs> bucket = dir::open(desk.folder.path() / "bucket");
  HookedBlobs far{*bucket};
  Places places{{{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics};
  Uploads uploads{*desk.store, places, desk.news, desk.clock, desk.log, desk.metrics, {}};
  BlobMoves moves{*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules()};
  Sweep sweep{*desk.store, places, uploads.events(), desk.clock, desk.log, desk.metrics, quick()};
};

TEST_F(BlobMovesTest, EverythingMovesIsVerifiedAndTheOldPlaceIsEmptyInTheEnd) {
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
  EXPECT_EQ(near_files(), 7u) << "nothing has left yet";
  ASSERT_TRUE(moves.finish().has_value());
  ASSERT_TRUE(moves.finish().has_value()) << "again is fine";
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

// A file that has no twin names none: nothing is not a bare key.
TEST_F(BlobMovesTest, IntoTheDirectoryTheyMoveLikeAnywhereElse) {
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

TEST_F(BlobMovesTest, TurnedBackNothingIsCopiedTwice) {
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
  EXPECT_EQ(sweep.run_once()->blobs, 0) << "somebody may still be reading an object";
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 4);
  EXPECT_EQ(far_files(), 0u);
  EXPECT_EQ(near_files(), 4u);
}

TEST_F(BlobMovesTest, APlaceThatIsNotThereOrDoesNotWorkIsRefusedWithWhatToDo) {
  const auto unknown = moves.begin(Place::inlined, 0);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().is(errors::blob_place_unusable));
  BlobMoves alone(*desk.store, desk.places, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules());
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
  EXPECT_EQ(moves.progress().move->rate, 20) << "nothing was said of it";
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  EXPECT_EQ(moves.progress().move->rate, 0);
}

TEST_F(BlobMovesTest, WithoutARateTheFirstGoesAsFastAsItGoesAndATurnedOneAsBefore) {
  ASSERT_TRUE(moves.begin(Place::s3, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 0);
  ASSERT_TRUE(moves.begin(Place::s3, 30));
  ASSERT_TRUE(moves.begin(Place::dir, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 30);
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 2);
  ASSERT_TRUE(moves.begin(Place::s3, std::nullopt));
  EXPECT_EQ(moves.progress().move->rate, 0) << "that was another one's";
}

// A key may be allowed to look and nothing else.
TEST_F(BlobMovesTest, APlaceThatTakesGivesOrDropsNothingIsRefused) {
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
  EXPECT_EQ(far_files(), left) << "what it is tried with does not stay";
}

TEST_F(BlobMovesTest, ACopyThatIsGoneWhenItIsFinishedIsMadeAnewBeforeTheOldOneLeaves) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  std::filesystem::remove(file_of(row(some[1]).blob_key));
  std::filesystem::resize_file(file_of(row(some[2]).blob_key), 100);
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 4);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  EXPECT_EQ(moves.progress().failures, 2);
  EXPECT_NE(moves.progress().last_failure.find("made anew"), std::string::npos) << moves.progress().last_failure;
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 6) << "four old ones, and the two that were no good";
  for (const Upload& one : some) {
    EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
    expect_readable(one);
  }
  EXPECT_EQ(near_files(), 0u);
  EXPECT_EQ(far_files(), 4u);
}

// Not one file of the new place is there, as after a disk was exchanged; what is to be copied again keeps its old bytes
// until it has been.
TEST_F(BlobMovesTest, OnceNothingIsInTheNewPlaceNothingLeavesTheOldOne) {
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

TEST_F(BlobMovesTest, WhileTheNewPlaceCannotBeAskedNothingLeavesTheOldOne) {
  const auto some = stage_some(5);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.finish().has_value());
  far_down = true;
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finishing);
  EXPECT_EQ(moves.progress().last_failure, "the bucket is gone");
  for (const Upload& one : some) EXPECT_EQ(places_of(one), (std::set<std::string>{"dir", "s3"}));
  EXPECT_EQ(sweep.run_once()->blobs, 0);
  far_down = false;
  tick(moves, 5);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::finished);
  for (const Upload& one : some) EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
}

// One object that cannot be asked for does not keep the others, but the end.
TEST_F(BlobMovesTest, OneThatCannotBeAskedForStaysInBothPlacesUntilItCan) {
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

TEST_F(BlobMovesTest, IntoAPlaceThatIsAwayNothingIsFinished) {
  stage_some(2);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  std::filesystem::rename(desk.folder.path() / "bucket", desk.folder.path() / "taken away");
  const auto away = moves.finish();
  ASSERT_FALSE(away.has_value());
  EXPECT_TRUE(away.error().is(errors::blob_place_unusable)) << away.error().code();
  Places without({{Place::dir, *desk.blobs}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves other(*desk.store, without, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules());
  EXPECT_TRUE(other.finish().error().is(errors::blob_place_unusable));
  tick(moves, 2);
  EXPECT_EQ(moves.progress().move->phase, BlobPhase::both);
  std::filesystem::rename(desk.folder.path() / "taken away", desk.folder.path() / "bucket");
  EXPECT_TRUE(moves.finish().has_value());
}

TEST_F(BlobMovesTest, WhereTheReserveWouldBeTouchedNothingIsCopiedUntilThereIsRoom) {
  const auto some = stage_some(3);
  bool room = false;
  std::set<Place> asked;
  BlobMoveRules rules;
  rules.has_room = [&](Place to, std::int64_t bytes) {
    asked.insert(to);
    return room && bytes > 0;
  };
  BlobMoves careful(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  ASSERT_TRUE(careful.begin(Place::s3, 0));
  careful.tick();
  EXPECT_EQ(careful.progress().failures, 1) << "then it rests";
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
  EXPECT_GE(soon, 2);
  EXPECT_LE(soon, 5);
  for (int second = 0; second < 40; ++second) {
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 10);
}

TEST_F(BlobMovesTest, WhatWasReadForACopyThatFailedCountsForTheRateToo) {
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

TEST_F(BlobMovesTest, OneThatIsDamagedIsMarkedAndLeftAndDoesNotHoldUpTheEnd) {
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

TEST_F(BlobMovesTest, APlaceThatIsGoneForAWhileIsTriedAgain) {
  const auto some = stage_some(5);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far_down = true;
  tick(moves, 5);
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 0);
  EXPECT_GT(desk.metrics.blob_move_failures.Value(), 0);
  EXPECT_EQ(moves.progress().last_failure, "the bucket is gone");
  far_down = false;
  tick(moves, 5);
  for (const Upload& one : some) EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
  EXPECT_EQ(moves.progress().left_files, 0);
}

TEST_F(BlobMovesTest, ACopyThatDoesNotReadBackIsNotTaken) {
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

TEST_F(BlobMovesTest, OneThatLeavesWhileItIsCopiedLeavesNoCopy) {
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
  Places elsewhere({{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves other(*desk.store, elsewhere, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  EXPECT_EQ(elsewhere.plan(), (PlacePlan{Place::dir, {}}));
  moves.tick();
  desk.clock.advance(seconds(1));
  other.tick();
  EXPECT_EQ(elsewhere.plan(), (PlacePlan{Place::s3, Place::dir}));
  EXPECT_EQ(other.progress().copied_files, 0);
  EXPECT_EQ(moves.progress().copied_files, 3);
  // The first one has died: after its lease the other goes on.
  places.set_plan({Place::dir, {}});
  stage_some(2);
  desk.clock.advance(seconds(31));
  other.tick();
  EXPECT_EQ(other.progress().copied_files, 2);
}

TEST_F(BlobMovesTest, WhatWasBegunBeforeIsFoundAtTheStartWhateverTheSettingsSay) {
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  Places later({{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics);
  BlobMoves again(*desk.store, later, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules());
  EXPECT_EQ(later.plan(), (PlacePlan{Place::s3, Place::dir}));
  EXPECT_EQ(again.disagreement(), "");
  ASSERT_TRUE(again.finish().has_value());
  tick(again, 3);
  EXPECT_EQ(later.plan(), (PlacePlan{Place::s3, {}}));
  EXPECT_NE(again.disagreement().find("set blobs = \"s3\""), std::string::npos);
  BlobMoveRules told;
  told.setting = Place::s3;
  BlobMoves agreed(*desk.store, later, uploads.integrity(), desk.clock, desk.log, desk.metrics, told);
  EXPECT_EQ(agreed.disagreement(), "");
}

// A slow request that began before anybody told it, and ends after everything is over.
TEST_F(BlobMovesTest, WhatComesToTheOldPlaceLateIsFetchedAllTheSame) {
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

// Nobody looks for ever: a request that began before the end is over some time.
TEST_F(BlobMovesTest, OnceEveryRequestIsOverNobodyLooksForStraysAnyMore) {
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  ASSERT_TRUE(moves.finish().has_value());
  tick(moves, 2);
  ASSERT_EQ(moves.progress().move->phase, BlobPhase::finished);
  desk.clock.advance(hours(1));
  tick(moves);
  places.set_plan({Place::dir, {}});
  const Upload late = stage(some_bytes());
  tick(moves, 4);
  EXPECT_EQ(places_of(late), std::set<std::string>{"dir"}) << "it was not looked for";
  // A server that starts looks once at least: another one may have died over it.
  BlobMoves started(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, BlobMoveRules());
  desk.clock.advance(seconds(30));
  tick(started, 4);
  EXPECT_EQ(places_of(late), std::set<std::string>{"s3"});
}

TEST_F(BlobMovesTest, WhatAnEarlierSettingLeftElsewhereCanFollow) {
  stage_some(2);
  places.set_plan({Place::s3, {}});
  BlobMoveRules rules;
  rules.setting = Place::s3;
  BlobMoves set_to_s3(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  const auto begun = set_to_s3.begin(Place::s3, 0);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->move.from, Place::dir);
}

TEST_F(BlobMovesTest, AServerThatIsAloneWaitsForNobodysLease) {
  stage_some(1);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  ASSERT_TRUE(desk.store->hold_blob_move(WorkerId::make(kStart), kStart + hours(1), kStart).take().value());
  tick(moves);
  EXPECT_EQ(moves.progress().copied_files, 0);
  BlobMoveRules rules;
  rules.alone = true;
  BlobMoves alone(*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules);
  tick(alone);
  EXPECT_EQ(alone.progress().copied_files, 1);
}

TEST_F(BlobMovesTest, OneThatIsToStopCopiesNothingMore) {
  stage_some(3);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far.opening = [&] { moves.stop(); };
  tick(moves, 3);
  EXPECT_EQ(desk.metrics.blob_move_files.Value(), 0);
  EXPECT_EQ(moves.progress().left_files, 3);
}

TEST_F(BlobMovesTest, ACopyThatIsLostIsReadFromTheOtherPlaceAndMadeAnew) {
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
  EXPECT_EQ(row(one).damage, UploadDamage::changed) << "neither place has it right";
}

}  // namespace
}  // namespace restante::desk
