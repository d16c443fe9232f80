#include "agent/backoff.h"

#include <gtest/gtest.h>

#include <set>

#include "agent/agent.h"

namespace restante::agent {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, EachPauseIsBetweenHalfAndAllOfAValueThatDoublesUpToABound) {
  for (int agents = 0; agents < 200; ++agents) {
    Backoff backoff(milliseconds(500), milliseconds(30'000));
    for (const int whole : {500, 1'000, 2'000, 4'000, 8'000, 16'000, 30'000, 30'000, 30'000}) {
      const auto pause = backoff.next();
      EXPECT_GE(pause, milliseconds(whole / 2));
      EXPECT_LE(pause, milliseconds(whole));
    }
  }
}

TEST(Backoff, AgentsThatLostTheServerTogetherDoNotComeBackTogether) {
  std::set<milliseconds> pauses;
  int early = 0;
  for (int agents = 0; agents < 1'000; ++agents) {
    Backoff backoff(milliseconds(30'000), milliseconds(30'000));
    const auto pause = backoff.next();
    pauses.insert(pause);
    early += pause < milliseconds(22'500) ? 1 : 0;
  }
  // A thousand agents draw from 15001 possible pauses, so few coincide. With one seed for all of them, or none, there
  // would be only one pause.
  EXPECT_GT(pauses.size(), 800u);
  EXPECT_GT(early, 300);
  EXPECT_LT(early, 700);
}

TEST(Backoff, ResetBeginsWithTheFirstPauseAgain) {
  Backoff backoff(milliseconds(100), milliseconds(30'000));
  for (int i = 0; i < 12; ++i) (void)backoff.next();
  EXPECT_GE(backoff.next(), milliseconds(15'000));
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(100));
}

TEST(Backoff, APauseOfOneMillisecondWorks) {
  Backoff backoff(milliseconds(1), milliseconds(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(backoff.next(), milliseconds(1));
}

TEST(Backoff, NoPauseOfAnAgentIsLongerThanTenSeconds) {
  constexpr std::chrono::seconds kMost{10};
  const Settings settings;
  EXPECT_LE(settings.backoff_most, kMost);
  EXPECT_LE(settings.downloads.pause_most, kMost);
  EXPECT_LE(settings.delivery.pause_most, kMost);
  EXPECT_LE(settings.reports.pause_most, kMost);
}

}  // namespace
}  // namespace restante::agent
