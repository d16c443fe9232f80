#include "desk/news.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

const WorkspaceId kOne = WorkspaceId::make(kStart);
const WorkspaceId kOther = WorkspaceId::make(kStart);

TEST(News, ARowRingsItsWorkspaceWhetherOrNotSomebodyWatches) {
  RememberingBell bell;
  News news(bell);
  news.appended(kOne, {}, {});
  EXPECT_EQ(bell.rung(), std::vector<std::string>{topic_of(kOne)});
  EXPECT_EQ(news.last(), 0u);
}

TEST(News, AWatcherIsToldWhatCameSinceThen) {
  RememberingBell bell;
  News news(bell);
  const News::Watch watch(news);
  news.happened(kOne, "UPLOAD_FETCHED", "{}");
  const auto seen = news.since(0, std::nullopt);
  news.appended(kOther, {ActivityId::make(kStart), 7}, {});
  const auto fresh = news.since(seen.last, std::nullopt);
  ASSERT_EQ(fresh.items.size(), 1u);
  EXPECT_EQ(fresh.items[0].name, "ACTIVITY_LOGGED");
  EXPECT_EQ(fresh.items[0].seq, 7);
  EXPECT_FALSE(fresh.missed);
  ASSERT_EQ(news.since(0, kOne).items.size(), 1u);
  EXPECT_EQ(news.since(0, kOne).items[0].name, "UPLOAD_FETCHED");
}

TEST(News, NothingIsRememberedWhileNobodyWatches) {
  RememberingBell bell;
  News news(bell);
  {
    const News::Watch watch(news);
  }
  news.happened(kOne, "UPLOAD_FETCHED", "{}");
  EXPECT_EQ(news.last(), 0u);
}

TEST(News, WhoFellTooFarBehindIsToldSo) {
  RememberingBell bell;
  News news(bell);
  const News::Watch watch(news);
  news.happened(kOne, "WORKSPACE_ONLINE", "{}");
  const auto seen = news.since(0, std::nullopt);
  for (int i = 0; i < 5000; ++i) news.happened(kOne, "UPLOAD_FETCHED", "{}");
  EXPECT_TRUE(news.since(seen.last, std::nullopt).missed);
  EXPECT_FALSE(news.since(news.last(), std::nullopt).missed);
}

}  // namespace
}  // namespace restante::desk
