#include "store/postgres/news.h"

#include <gmock/gmock.h>

namespace restante::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Time kNow(std::chrono::seconds(1'800'000'000));
const Uuid kHere = Uuid::make(kNow);
const Uuid kThere = Uuid::make(kNow);
const WorkspaceId kWorkspace = WorkspaceId::make(kNow);

class Remembering final : public Announcements::Listener {
 public:
  void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) override {
    heard.push_back("log " + workspace.text() + " " + std::to_string(first) + "-" + std::to_string(last));
  }
  void changed(WorkspaceId workspace) override { heard.push_back("workspace " + workspace.text()); }
  void revoked(TokenId token) override { heard.push_back("token " + token.text()); }
  void happened(Happening one) override { heard.push_back(one.workspace.text() + " " + one.name + " " + one.data); }
  bool looks_on() override { return false; }
  void lost() override {}
  void healed() override {}
  std::vector<std::string> heard;
};

class PostgresNews : public ::testing::Test {
 protected:
  PostgresNews() { announcements.listen(&listener); }
  bool read(const std::string& text) { return read_text(text, kHere, announcements); }

  Announcements announcements;
  Remembering listener;
};

TEST_F(PostgresNews, WhatOneServerTellsAnotherReads) {
  News news;
  const TokenId token = TokenId::make(kNow);
  for (const int seq : {4, 5, 6}) news.append(kWorkspace, seq);
  news.changed.insert(kWorkspace);
  news.revoked.insert(token);
  const auto texts = news.texts(kThere);
  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_FALSE(read(texts[0]));
  EXPECT_THAT(listener.heard, ElementsAre("token " + token.text(), "workspace " + kWorkspace.text(),
                                          "log " + kWorkspace.text() + " 4-6"));
}

TEST_F(PostgresNews, WhatATextTellsIsReadByWhoeverRemembers) {
  News news;
  const WorkspaceId other = WorkspaceId::make(kNow);
  for (const int seq : {4, 5}) news.append(kWorkspace, seq);
  news.changed.insert(other);
  news.pruned.insert(kWorkspace);
  news.revoked.insert(TokenId::make(kNow));
  const News told = news_of(news.texts(kHere)[0]);
  EXPECT_EQ(told.appended, news.appended);
  EXPECT_EQ(told.changed, news.changed);
  EXPECT_EQ(told.pruned, news.pruned);
  EXPECT_EQ(told.revoked, news.revoked);
}

TEST_F(PostgresNews, WhatIsNotOursTellsNothing) {
  for (const std::string text : {"", "x", "x\nlog", "x\nlog y 1 2\ntoken y\n\nweather fine", "x\nlooking-on"}) {
    const News told = news_of(text);
    EXPECT_TRUE(told.appended.empty() && told.changed.empty() && told.pruned.empty() && told.revoked.empty()) << text;
  }
}

TEST_F(PostgresNews, AServersOwnWordsAreNoNewsToIt) {
  News news;
  news.append(kWorkspace, 1);
  read(news.texts(kHere)[0]);
  EXPECT_THAT(listener.heard, IsEmpty());
}

TEST_F(PostgresNews, NothingToTellIsNoText) { EXPECT_THAT(News().texts(kThere), IsEmpty()); }

TEST_F(PostgresNews, NoTextIsLongerThanPostgresqlTakesAndNothingIsLeftOut) {
  News news;
  for (int i = 0; i < 1'000; ++i) news.append(WorkspaceId::make(kNow), i + 1);
  const auto texts = news.texts(kThere);
  for (const auto& text : texts) {
    EXPECT_LT(text.size(), 8'000u);
    read(text);
  }
  EXPECT_THAT(listener.heard, SizeIs(1'000));
}

TEST_F(PostgresNews, WhatHappensIsToldWithItsData) {
  const std::string text = text_of(kThere, {kWorkspace, "UPLOAD_FETCHED", R"({"name":"a b.txt"})"});
  read(text);
  EXPECT_THAT(listener.heard, ElementsAre(kWorkspace.text() + R"( UPLOAD_FETCHED {"name":"a b.txt"})"));
  EXPECT_EQ(text_of(kThere, {kWorkspace, "X", std::string(8'000, 'x')}), "") << "too long to be told";
  EXPECT_EQ(text_of(kThere, {kWorkspace, "X", "{\n}"}), "") << "the next line would be taken for something else";
}

TEST_F(PostgresNews, ThatSomebodyLooksOnIsKnownToOthersOnly) {
  EXPECT_TRUE(read(looking_on(kThere)));
  EXPECT_FALSE(read(looking_on(kHere)));
}

TEST_F(PostgresNews, WhatIsNotOursIsPassedOver) {
  for (const std::string text : {"", "hello", "\n", "x\nlog", "\n\n\n"}) EXPECT_FALSE(read(text));
  for (const std::string line : {"log", "log x 1 2", "token", "token x", "workspace", "event", "weather fine"}) {
    EXPECT_FALSE(read(kThere.text() + "\n" + line));
  }
  EXPECT_FALSE(read(kThere.text() + "\nweather " + kWorkspace.text())) << "of a newer server";
  EXPECT_THAT(listener.heard, IsEmpty());
}

}  // namespace
}  // namespace restante::postgres
