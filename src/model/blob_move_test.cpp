#include "model/blob_move.h"

#include <gtest/gtest.h>

#include "model/errors.h"

namespace restante {
namespace {

using Step = BegunBlobMove::Step;

const Time kNow = Time(std::chrono::seconds(1'800'000'000));
const Time kLater = kNow + std::chrono::seconds(9);

BlobMove in_phase(BlobPhase phase) { return {Place::dir, Place::s3, phase, 7, kNow, kNow}; }

TEST(BlobMove, PhasesAreReadBackFromTheirNames) {
  for (const BlobPhase phase : {BlobPhase::both, BlobPhase::finishing, BlobPhase::finished}) {
    EXPECT_EQ(parse_blob_phase(name_of(phase)), phase);
  }
  EXPECT_FALSE(parse_blob_phase("copying"));
}

TEST(BlobMove, BeginsWhenNoneIsInProgress) {
  for (const auto& was : {std::optional<BlobMove>(), std::optional(in_phase(BlobPhase::finished))}) {
    const auto begun = begin_blob_move(was, Place::s3, Place::inlined, 5, kLater);
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->step, Step::begun);
    EXPECT_EQ(begun->move, (BlobMove{Place::s3, Place::inlined, BlobPhase::both, 5, kLater, kLater}));
  }
}

TEST(BlobMove, TheSameRequestAgainOnlySetsTheRate) {
  for (const BlobPhase phase : {BlobPhase::both, BlobPhase::finishing}) {
    const auto again = begin_blob_move(in_phase(phase), Place::s3, Place::s3, 9, kLater);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->step, Step::repeated);
    BlobMove expected = in_phase(phase);
    expected.rate = 9;
    EXPECT_EQ(again->move, expected);
  }
}

TEST(BlobMove, IsReversedOnlyInPhaseBoth) {
  const auto turned = begin_blob_move(in_phase(BlobPhase::both), Place::s3, Place::dir, 0, kLater);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->step, Step::turned);
  EXPECT_EQ(turned->move, (BlobMove{Place::s3, Place::dir, BlobPhase::both, 0, kLater, kLater}));
  const auto late = begin_blob_move(in_phase(BlobPhase::finishing), Place::s3, Place::dir, 0, kLater);
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().is(errors::blob_move_under_way));
}

TEST(BlobMove, AMoveToAThirdPlaceIsRefused) {
  const auto other = begin_blob_move(in_phase(BlobPhase::both), Place::s3, Place::inlined, 0, kLater);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is(errors::blob_move_under_way));
}

}  // namespace
}  // namespace restante
