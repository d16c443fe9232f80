#include "store/postgres/cache/change_set.h"

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

class RecordingSubscriber final : public Announcements::Subscriber {
 public:
  void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) override {
    received.push_back("log " + workspace.text() + " " + std::to_string(first) + "-" + std::to_string(last));
  }
  void changed(WorkspaceId workspace) override { received.push_back("workspace " + workspace.text()); }
  void revoked(TokenId token) override { received.push_back("token " + token.text()); }
  void publish(TransientEvent one) override {
    received.push_back(one.workspace.text() + " " + one.name + " " + one.data);
  }
  bool wants_events() override { return false; }
  void disconnected() override {}
  void reconnected() override {}
  std::vector<std::string> received;
};

class PostgresChangeSet : public ::testing::Test {
 protected:
  PostgresChangeSet() { announcements.subscribe(&subscriber); }
  bool read(const std::string& text) { return read_text(text, kHere, announcements); }

  Announcements announcements;
  RecordingSubscriber subscriber;
};

TEST_F(PostgresChangeSet, AnotherServerReadsTheTextsOfAChangeSet) {
  ChangeSet change_set;
  const TokenId token = TokenId::make(kNow);
  for (const int seq : {4, 5, 6}) change_set.append(kWorkspace, seq);
  change_set.changed.insert(kWorkspace);
  change_set.revoked.insert(token);
  const auto texts = change_set.texts(kThere);
  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_FALSE(read(texts[0]));
  EXPECT_THAT(subscriber.received, ElementsAre("token " + token.text(), "workspace " + kWorkspace.text(),
                                               "log " + kWorkspace.text() + " 4-6"));
}

TEST_F(PostgresChangeSet, AChangeSetIsReadBackFromItsText) {
  ChangeSet change_set;
  const WorkspaceId other = WorkspaceId::make(kNow);
  for (const int seq : {4, 5}) change_set.append(kWorkspace, seq);
  change_set.changed.insert(other);
  change_set.pruned.insert(kWorkspace);
  change_set.revoked.insert(TokenId::make(kNow));
  const ChangeSet read_back = change_set_of(change_set.texts(kHere)[0]);
  EXPECT_EQ(read_back.appended, change_set.appended);
  EXPECT_EQ(read_back.changed, change_set.changed);
  EXPECT_EQ(read_back.pruned, change_set.pruned);
  EXPECT_EQ(read_back.revoked, change_set.revoked);
}

TEST_F(PostgresChangeSet, ATextThatIsNotOursGivesAnEmptyChangeSet) {
  for (const std::string text : {"", "x", "x\nlog", "x\nlog y 1 2\ntoken y\n\nweather fine", "x\nlooking-on"}) {
    const ChangeSet read_back = change_set_of(text);
    EXPECT_TRUE(read_back.appended.empty() && read_back.changed.empty() && read_back.pruned.empty() &&
                read_back.revoked.empty())
        << text;
  }
}

TEST_F(PostgresChangeSet, AServerIgnoresItsOwnTexts) {
  ChangeSet change_set;
  change_set.append(kWorkspace, 1);
  read(change_set.texts(kHere)[0]);
  EXPECT_THAT(subscriber.received, IsEmpty());
}

TEST_F(PostgresChangeSet, AnEmptyChangeSetHasNoText) { EXPECT_THAT(ChangeSet().texts(kThere), IsEmpty()); }

TEST_F(PostgresChangeSet, NoTextIsLongerThanPostgresqlTakesAndNothingIsLost) {
  ChangeSet change_set;
  for (int i = 0; i < 1'000; ++i) change_set.append(WorkspaceId::make(kNow), i + 1);
  const auto texts = change_set.texts(kThere);
  for (const auto& text : texts) {
    EXPECT_LT(text.size(), 8'000u);
    read(text);
  }
  EXPECT_THAT(subscriber.received, SizeIs(1'000));
}

TEST_F(PostgresChangeSet, ATransientEventIsSentWithItsData) {
  const std::string text = text_of(kThere, {kWorkspace, "UPLOAD_FETCHED", R"({"name":"a b.txt"})"});
  read(text);
  EXPECT_THAT(subscriber.received, ElementsAre(kWorkspace.text() + R"( UPLOAD_FETCHED {"name":"a b.txt"})"));
  EXPECT_EQ(text_of(kThere, {kWorkspace, "X", std::string(8'000, 'x')}), "") << "too long for a notification";
  EXPECT_EQ(text_of(kThere, {kWorkspace, "X", "{\n}"}), "") << "the next line would be taken for something else";
}

TEST_F(PostgresChangeSet, InterestInEventsIsReadByOtherServersOnly) {
  EXPECT_TRUE(read(interest_text(kThere)));
  EXPECT_FALSE(read(interest_text(kHere)));
}

TEST_F(PostgresChangeSet, ATextThatIsNotOursIsIgnored) {
  for (const std::string text : {"", "hello", "\n", "x\nlog", "\n\n\n"}) EXPECT_FALSE(read(text));
  for (const std::string line : {"log", "log x 1 2", "token", "token x", "workspace", "event", "weather fine"}) {
    EXPECT_FALSE(read(kThere.text() + "\n" + line));
  }
  EXPECT_FALSE(read(kThere.text() + "\nweather " + kWorkspace.text())) << "of a newer server";
  EXPECT_THAT(subscriber.received, IsEmpty());
}

}  // namespace
}  // namespace restante::postgres
