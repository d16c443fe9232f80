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
  news.appended(kOne, {});
  EXPECT_EQ(bell.rung(), std::vector<std::string>{topic_of(kOne)});
  EXPECT_EQ(news.last(), 0u);
}

TEST(News, AWatcherIsToldWhatCameSinceThen) {
  RememberingBell bell;
  News news(bell);
  const News::Watch watch(news);
  news.happened(kOne, "UPLOAD_FETCHED", "{}");
  const auto seen = news.since(0, std::nullopt);
  news.appended(kOther, {ActivityId::make(kStart), 7});
  const auto fresh = news.since(seen.last, std::nullopt);
  ASSERT_EQ(fresh.items.size(), 1u);
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

TEST(News, APageIsBoundedAndTheNextGoesOnWhereItEnded) {
  RememberingBell bell;
  News news(bell);
  const News::Watch watch(news);
  for (int i = 0; i < 7; ++i) {
    news.happened(kOne, "UPLOAD_FETCHED", std::to_string(i));
    news.happened(kOther, "UPLOAD_FETCHED", "other");
  }
  std::string heard;
  std::uint64_t last = 0;
  for (bool more = true; more;) {
    const auto page = news.since(last, kOne, 3);
    EXPECT_LE(page.items.size(), 3u);
    for (const auto& item : page.items) heard += item.data;
    last = page.last;
    more = page.more;
  }
  EXPECT_EQ(heard, "0123456");
  EXPECT_EQ(last, news.last());
  EXPECT_TRUE(news.since(last, std::nullopt).items.empty());
}

}  // namespace
}  // namespace restante::desk
