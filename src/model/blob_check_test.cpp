#include "model/blob_check.h"

#include <gtest/gtest.h>

#include "model/errors.h"

namespace restante {
namespace {

const Time kNow = Time(std::chrono::seconds(1'800'000'000));
const Time kLater = kNow + std::chrono::seconds(9);

NewBlobCheck wanted() { return {true, WorkerId::make(kNow), kLater, "begun", "none", {}}; }

TEST(BlobCheckRule, StatesAreReadBackFromTheirNames) {
  for (const auto state :
       {BlobCheckState::running, BlobCheckState::done, BlobCheckState::stopped, BlobCheckState::failed}) {
    EXPECT_EQ(parse_blob_check_state(name_of(state)), state);
  }
  EXPECT_FALSE(parse_blob_check_state("interrupted")) << "no server is left to write that";
}

TEST(BlobCheckRule, OneBeginsWhenThereWasNoneAndAfterTheLastOne) {
  const NewBlobCheck first = wanted();
  const auto begun = begin_blob_check({}, first, kNow);
  ASSERT_TRUE(begun);
  EXPECT_EQ(*begun, (BlobCheckRow{BlobCheckState::running, true, kNow, first.worker, kLater, "begun", "none", {}}));
  for (const auto state : {BlobCheckState::done, BlobCheckState::stopped, BlobCheckState::failed}) {
    BlobCheckRow was = *begun;
    was.state = state;
    was.ended_at = kNow;
    EXPECT_TRUE(begin_blob_check(was, wanted(), kNow)) << name_of(state);
  }
}

TEST(BlobCheckRule, NoOtherBeginsUntilTheLeaseIsOverOrItsServerIsKnownToHaveEnded) {
  const auto was = begin_blob_check({}, wanted(), kNow);
  ASSERT_TRUE(was);
  NewBlobCheck second = wanted();
  const auto refused = begin_blob_check(*was, second, kLater - std::chrono::microseconds(1));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(errors::blob_check_running));
  EXPECT_TRUE(begin_blob_check(*was, second, kLater));
  second.gone = was->worker;
  EXPECT_TRUE(begin_blob_check(*was, second, kNow));
  second.gone = second.worker;
  EXPECT_FALSE(begin_blob_check(*was, second, kNow));
}

}  // namespace
}  // namespace restante
