// Two servers and one lease. A server that loses it, because it stalled for longer than the lease, does nothing twice
// and leaves no copies behind. A server that cannot copy leaves the lease to the other.
#include <utility>

#include "desk/blob_moves/test_blob_moves.h"
#include "store/owner.h"

namespace restante::desk {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class BlobMovesLeaseTest : public BlobMovesTest {
 protected:
  // When the next blob is opened in the new place, this server stalls and the other one continues.
  void stall_once_a_copy_is_read() {
    far.opening = [this, stalled = false]() mutable {
      if (std::exchange(stalled, true)) return;
      desk.clock.advance(seconds(31));
      tick(other, 3);
    };
  }

  Places other_places{{{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics};
  BlobMoves other{*desk.store, other_places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
};

TEST_F(BlobMovesLeaseTest, AServerThatLosesTheLeaseInTheMiddleOfAPageDropsThePage) {
  const auto some = stage_some(6);
  ASSERT_TRUE(moves.begin(Place::s3, 20'000));
  moves.tick();
  const auto early = moves.progress().copied_files;
  ASSERT_GT(early, 0);
  ASSERT_LT(early, 6);
  desk.clock.advance(seconds(31));
  ASSERT_TRUE(other.begin(Place::s3, 0));
  other.tick();
  EXPECT_EQ(other.progress().copied_files, 6 - early);
  moves.tick();
  EXPECT_EQ(moves.progress().copied_files, early) << "the other one has the lease";
  desk.clock.advance(seconds(31));
  tick(moves, 3);
  EXPECT_EQ(moves.progress().copied_files, early) << "nothing is left to do";
  EXPECT_EQ(far_files(), 6u);
  for (const Upload& one : some) expect_readable(one);
}

TEST_F(BlobMovesLeaseTest, AServerThatLosesTheLeaseWhileItCopiesDropsItsCopy) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  stall_once_a_copy_is_read();
  tick(moves, 3);
  EXPECT_EQ(other.progress().copied_files, 4);
  EXPECT_EQ(moves.progress().copied_files, 0) << "the rows had changed when it continued";
  EXPECT_EQ(far_files(), 4u);
  for (const Upload& one : some) {
    EXPECT_TRUE(std::filesystem::exists(file_of(row(one).blob_key)));
    EXPECT_EQ(row(one).twin_key, one.blob_key);
    expect_readable(one);
  }
}

TEST_F(BlobMovesLeaseTest, AServerThatLosesTheLeaseWhileOldBlobsAreDeletedLeavesTheEndToTheOther) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  ASSERT_TRUE(moves.finish().has_value());
  stall_once_a_copy_is_read();
  moves.tick();
  const auto ended = other.progress().move;
  ASSERT_EQ(ended->phase, BlobPhase::finished);
  desk.clock.advance(seconds(31));
  tick(moves, 3);
  EXPECT_EQ(moves.progress().move, ended) << "it ended once";
  desk.clock.advance(minutes(2));
  EXPECT_EQ(sweep.run_once()->blobs, 4);
  EXPECT_EQ(near_files(), 0u);
  EXPECT_EQ(far_files(), 4u);
  for (const Upload& one : some) {
    EXPECT_EQ(places_of(one), std::set<std::string>{"s3"});
    expect_readable(one);
  }
}

using Copier = BlobMoveProgress::Copier;

TEST_F(BlobMovesLeaseTest, AServerWithoutTheNewPlaceNeverTakesTheLease) {
  stage_some(4);
  BlobMoves unset(*desk.store, desk.places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  desk.clock.advance(seconds(1));
  tick(unset, 3);
  const auto shown = unset.progress();
  EXPECT_EQ(shown.copier, Copier::none);
  EXPECT_NE(shown.held_up.find("not set up for files in \"s3\""), std::string::npos) << shown.held_up;
  EXPECT_EQ(shown.failures, 0) << "nothing was tried";
  moves.tick();
  EXPECT_EQ(moves.progress().copied_files, 4) << "at once: no server had the lease";
  EXPECT_EQ(moves.progress().copier, Copier::this_server);
  EXPECT_EQ(moves.progress().held_up, "");
  other.tick();
  EXPECT_EQ(other.progress().copier, Copier::other_server);
}

TEST_F(BlobMovesLeaseTest, AServerWhosePlaceIsTakenAwayReleasesTheLeaseAndTakesItAgainLater) {
  Owner owner{*desk.store, {{Place::s3, *bucket}}, desk.clock, desk.log, desk.metrics, {}};
  owner.ensure_installation();
  ASSERT_EQ(owner.refusal_reason(Place::s3), "");
  Places owned{{{Place::dir, *desk.blobs}, {Place::s3, *bucket}}, {Place::dir, {}}, desk.log, desk.metrics, &owner};
  BlobMoves barred{*desk.store, owned, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
  ASSERT_TRUE(barred.begin(Place::s3, 0));
  barred.tick();
  ASSERT_EQ(barred.progress().copier, Copier::this_server);
  const auto some = stage_some(4);
  const auto mark = bucket->mark();
  bucket->put_mark(text_of({InstallationId::make(desk.clock.now()), MarkId::make(desk.clock.now())}),
                   Blobs::MarkMode::anyway);
  ASSERT_NE(owner.refusal_reason(Place::s3), "");
  desk.clock.advance(seconds(1));
  other.tick();
  ASSERT_EQ(other.progress().copier, Copier::other_server);
  desk.clock.advance(seconds(3));
  barred.tick();
  EXPECT_EQ(barred.progress().copier, Copier::none);
  EXPECT_NE(barred.progress().held_up.find("another installation"), std::string::npos) << barred.progress().held_up;
  other.tick();
  EXPECT_EQ(other.progress().copied_files, 4) << "well before the lease would have been over";
  bucket->put_mark(*mark, Blobs::MarkMode::anyway);
  ASSERT_EQ(owner.refusal_reason(Place::s3), "");
  desk.clock.advance(seconds(31));
  barred.tick();
  EXPECT_EQ(barred.progress().copier, Copier::this_server);
  EXPECT_EQ(barred.progress().held_up, "");
  for (const Upload& one : some) expect_readable(one);
}

TEST_F(BlobMovesLeaseTest, AServerWhoseAttemptsAllFailReleasesTheLease) {
  const auto some = stage_some(9);
  Places sound{{{Place::dir, *desk.blobs}, {Place::s3, *bucket}}, {Place::dir, {}}, desk.log, desk.metrics};
  BlobMoves able{*desk.store, sound, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far_down = true;
  for (int second = 0; second < 40 && able.progress().left_files > 0; ++second) {
    moves.tick();
    able.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_GT(moves.progress().failures, 3) << "it was the first, and did not give up at once";
  EXPECT_EQ(moves.progress().copied_files, 0);
  EXPECT_EQ(able.progress().copied_files, 9);
  for (const Upload& one : some) EXPECT_EQ(parse_key(row(one).blob_key)->place, Place::s3);
}

TEST_F(BlobMovesLeaseTest, AServerWithoutTheOldPlaceReleasesTheLease) {
  stage_some(9);
  Places half{{{Place::s3, far}}, {Place::s3, {}}, desk.log, desk.metrics};
  BlobMoves lacking{*desk.store, half, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  desk.clock.advance(seconds(1));
  for (int second = 0; second < 40 && moves.progress().left_files > 0; ++second) {
    lacking.tick();
    moves.tick();
    desk.clock.advance(seconds(1));
  }
  EXPECT_NE(lacking.progress().last_failure.find("not set up for files in \"dir\""), std::string::npos);
  EXPECT_EQ(moves.progress().copied_files, 9);
}

TEST_F(BlobMovesLeaseTest, WithoutAnotherServerTheOneThatFailedTriesAgain) {
  stage_some(20);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  far_down = true;
  const auto tick_for = [&](int most) {
    for (int second = 0; second < most && moves.progress().copier != Copier::none; ++second) {
      moves.tick();
      desk.clock.advance(seconds(1));
    }
  };
  moves.tick();
  tick_for(60);
  ASSERT_EQ(moves.progress().copier, Copier::none) << "it has released the lease";
  const auto failures = moves.progress().failures;
  moves.tick();
  EXPECT_EQ(moves.progress().failures, failures);
  desk.clock.advance(2 * unhurried().lease);
  moves.tick();
  EXPECT_EQ(moves.progress().copier, Copier::this_server);
  EXPECT_GT(moves.progress().failures, failures);
  tick_for(60);
  ASSERT_EQ(moves.progress().copier, Copier::none);
  far_down = false;
  desk.clock.advance(seconds(3));
  moves.tick();
  EXPECT_EQ(moves.progress().copied_files, 0) << "it still waits for other servers";
  ASSERT_TRUE(moves.begin(Place::s3, 1'000'000'000));
  desk.clock.advance(seconds(3));
  moves.tick();
  EXPECT_GT(moves.progress().copied_files, 0) << "the operator has changed the move: it tries at once";
  tick(moves, 4);
  EXPECT_EQ(moves.progress().left_files, 0);
}

TEST_F(BlobMovesLeaseTest, AServerThatIsAloneContinuesTryingAndNeverReleasesTheLease) {
  stage_some(2);
  BlobMoveRules rules = unhurried();
  rules.alone = true;
  BlobMoves alone{*desk.store, places, uploads.integrity(), desk.clock, desk.log, desk.metrics, rules};
  ASSERT_TRUE(alone.begin(Place::s3, 0));
  far_down = true;
  for (int pass = 0; pass < 5; ++pass) {
    const auto failures = alone.progress().failures;
    tick(alone, 2);
    EXPECT_GT(alone.progress().failures, failures);
    EXPECT_EQ(alone.progress().copier, Copier::this_server);
  }
  far_down = false;
  tick(alone, 2);
  EXPECT_EQ(alone.progress().left_files, 0);
}

// A move is reversed when the new place has failed.
TEST_F(BlobMovesLeaseTest, AServerWithoutTheOldPlaceReversesAMoveOfFilesThatAreInBothPlaces) {
  const auto some = stage_some(3);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  tick(moves, 2);
  BlobMoves near(*desk.store, desk.places, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried());
  desk.clock.advance(seconds(31));
  ASSERT_TRUE(near.begin(Place::dir, 0));
  near.tick();
  EXPECT_EQ(near.progress().left_files, 0);
  EXPECT_EQ(near.progress().held_up, "");
  for (const Upload& one : some) EXPECT_EQ(row(one).keys().key, one.blob_key);
}

}  // namespace
}  // namespace restante::desk
