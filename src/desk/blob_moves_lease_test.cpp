// Two servers and one lease: whoever loses it in the middle, because it stalled for longer than it lasts, does nothing
// a second time and leaves nothing behind.
#include <utility>

#include "desk/test_blob_moves.h"

namespace restante::desk {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class BlobMovesLeaseTest : public BlobMovesTest {
 protected:
  // The next time anything is opened in the new place this one has stalled, and the other goes on.
  void stall_once_a_copy_is_read() {
    far.opening = [this, stalled = false]() mutable {
      if (std::exchange(stalled, true)) return;
      desk.clock.advance(seconds(31));
      tick(other, 3);
    };
  }

  Places elsewhere{{{Place::dir, *desk.blobs}, {Place::s3, far}}, {Place::dir, {}}, desk.log, desk.metrics};
  BlobMoves other{*desk.store, elsewhere, uploads.integrity(), desk.clock, desk.log, desk.metrics, unhurried()};
};

TEST_F(BlobMovesLeaseTest, LostInTheMiddleOfAPageThePageIsForgotten) {
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

TEST_F(BlobMovesLeaseTest, LostWhileAFileIsCopiedTheSecondCopyIsDropped) {
  const auto some = stage_some(4);
  ASSERT_TRUE(moves.begin(Place::s3, 0));
  stall_once_a_copy_is_read();
  tick(moves, 3);
  EXPECT_EQ(other.progress().copied_files, 4);
  EXPECT_EQ(moves.progress().copied_files, 0) << "the rows had changed when it came back";
  EXPECT_EQ(far_files(), 4u);
  for (const Upload& one : some) {
    EXPECT_TRUE(std::filesystem::exists(file_of(row(one).blob_key)));
    EXPECT_EQ(row(one).twin_key, one.blob_key);
    expect_readable(one);
  }
}

TEST_F(BlobMovesLeaseTest, LostWhileOldOnesLeaveEachLeavesOnceAndTheEndIsTheOthers) {
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

}  // namespace
}  // namespace restante::desk
