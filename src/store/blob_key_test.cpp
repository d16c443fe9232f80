#include "store/blob_key.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

using namespace std::chrono_literals;

const Time kNow = parse_time("2026-11-15T03:28:00.123456Z").value();

TEST(BlobKey, BeginsWithTheTimeItWasMadeAndIsNeverTheSame) {
  const auto key = new_blob_key(kNow);
  EXPECT_TRUE(is_blob_key(key));
  EXPECT_EQ(time_of_blob_key(key), std::chrono::floor<std::chrono::milliseconds>(kNow));
  EXPECT_NE(key, new_blob_key(kNow));
  EXPECT_LT(key, new_blob_key(kNow + 1ms));
}

TEST(BlobKey, IsThirtyTwoLowerCaseHexDigitsAndNothingElse) {
  EXPECT_TRUE(is_blob_key(std::string(32, 'f')));
  for (const auto& bad : {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'A'),
                          std::string(32, 'g'), std::string(31, 'a') + '\0', std::string(32, '/')}) {
    EXPECT_FALSE(is_blob_key(bad)) << bad;
  }
}

TEST(BlobKey, ATrialKeyDiffersFromAFilesKeyAndIsOtherwiseLikeOne) {
  const auto trial = trial_blob_key(kNow);
  EXPECT_TRUE(is_blob_key(trial));
  EXPECT_TRUE(is_trial_blob_key(trial));
  EXPECT_FALSE(is_trial_blob_key(new_blob_key(kNow)));
  EXPECT_EQ(time_of_blob_key(trial), time_of_blob_key(new_blob_key(kNow)));
  EXPECT_NE(trial, trial_blob_key(kNow));
}

TEST(BlobKey, TheFirstKeyOfATimeSeparatesOlderKeysFromTheOthers) {
  for (const Time when : {kNow, std::chrono::floor<std::chrono::milliseconds>(kNow) + 0us, Time()}) {
    const auto bound = first_blob_key(when);
    for (const auto& made : {when - 2ms, when - 1ms, when, when + 1ms, when + 2ms}) {
      if (made < Time()) continue;
      const auto key = new_blob_key(made);
      EXPECT_EQ(key < bound, time_of_blob_key(key) < when) << key << ' ' << bound;
    }
  }
  EXPECT_GT(first_blob_key(Time::max()), std::string(32, 'f'));
  EXPECT_LT(first_blob_key(Time::min()), new_blob_key(Time()));
}

}  // namespace
}  // namespace restante
