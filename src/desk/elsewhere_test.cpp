#include "desk/elsewhere.h"

#include <gmock/gmock.h>

#include "desk/test_desk.h"
#include "desk/tokens.h"

namespace restante::desk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WorkspaceId kOne = WorkspaceId::make(kStart);

class ElsewhereTest : public ::testing::Test {
 protected:
  template <class Call>
  void announce(Call call) {
    announcements.hear(call);
  }

  ManualClock clock{kStart};
  Nowhere nowhere;
  Log log{nowhere.fd, LogLevel::debug, clock};
  Announcements announcements;
  RememberingBell bell;
  News news{bell, &announcements};
  Elsewhere elsewhere{announcements, news, bell, log};
};

TEST_F(ElsewhereTest, ARowAppendedByAnotherServerRingsItsWorkspace) {
  announce([](auto& listener) { listener.appended(kOne, 3, 5); });
  EXPECT_THAT(bell.rung(), ElementsAre(topic_of(kOne)));
}

TEST_F(ElsewhereTest, WhoWatchesIsToldOfEveryRowButNotOfThousands) {
  const News::Watch watch(news);
  announce([](auto& listener) { listener.appended(kOne, 3, 5); });
  const auto page = news.since(0, std::nullopt);
  ASSERT_EQ(page.items.size(), 3u);
  EXPECT_EQ(page.items.front().seq, 3);
  EXPECT_EQ(page.items.back().seq, 5);
  announce([](auto& listener) { listener.appended(kOne, 6, 100'000); });
  const auto more = news.since(page.last, std::nullopt, 1'000);
  ASSERT_EQ(more.items.size(), 100u);
  EXPECT_EQ(more.items.back().seq, 100'000);
}

TEST_F(ElsewhereTest, ChangesAndRevokedTokensRing) {
  const TokenId token = TokenId::make(kStart);
  announce([&](auto& listener) {
    listener.changed(kOne);
    listener.revoked(token);
  });
  EXPECT_THAT(bell.rung(2), ElementsAre(topic_of(kOne), topic_of(token)));
}

TEST_F(ElsewhereTest, WhatHappensElsewhereIsToldHereAndNotSentBackOut) {
  std::vector<std::string> sent;
  announcements.send_by([&](const Happening& happening) { sent.push_back(happening.name); });
  EXPECT_FALSE(elsewhere.looks_on());
  const News::Watch watch(news);
  EXPECT_TRUE(elsewhere.looks_on());
  announce([](auto& listener) { listener.happened({kOne, "UPLOAD_FETCHED", "{}"}); });
  const auto page = news.since(0, kOne);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].name, "UPLOAD_FETCHED");
  EXPECT_THAT(sent, IsEmpty());
  news.happened(kOne, "WORKSPACE_ONLINE", "{}");
  EXPECT_THAT(sent, ElementsAre("WORKSPACE_ONLINE"));
}

TEST_F(ElsewhereTest, WhileNothingIsHeardHeldPollsAreReleasedAndAfterwardsEverybodyLooks) {
  const News::Watch watch(news);
  news.happened(kOne, "WORKSPACE_ONLINE", "{}");
  const auto seen = news.since(0, std::nullopt);
  bell.rung();
  announce([](auto& listener) { listener.lost(); });
  EXPECT_THAT(bell.rung(), ElementsAre("release"));
  announce([](auto& listener) { listener.healed(); });
  EXPECT_THAT(bell.rung(), ElementsAre("*"));
  EXPECT_TRUE(news.since(seen.last, std::nullopt).missed) << "a stream begins anew";
}

}  // namespace
}  // namespace restante::desk
