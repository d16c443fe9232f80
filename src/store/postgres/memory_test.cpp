#include "store/postgres/memory.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/crypto.h"
#include "model/errors.h"

namespace restante::postgres {
namespace {

using std::chrono::steady_clock;

const Time kNow(std::chrono::seconds(1'800'000'000));
const Digest kHash = sha256("secret");

class PostgresMemory : public ::testing::Test {
 protected:
  PostgresMemory() { memory.trust(steady_clock::now() + std::chrono::hours(1)); }

  std::optional<Token> find_token() {
    return memory.find_token(kHash, [&] {
      ++asked;
      if (meanwhile) meanwhile();
      return token;
    });
  }
  Result<DeliveryMode> find_delivery(WorkspaceId id) {
    return memory.find_delivery(id, [&] {
      ++asked;
      if (meanwhile) meanwhile();
      return delivery;
    });
  }
  Result<Memory::Page> read(WorkspaceId id, const ActivityQuery& query) {
    return memory.read_page(id, query, [&] {
      ++asked;
      if (meanwhile) meanwhile();
      return page;
    });
  }
  // How often the database is asked by all of these.
  int asked_by(const std::function<void()>& questions) {
    const int before = asked;
    questions();
    return asked - before;
  }
  static ActivityQuery after(std::int64_t seq) {
    ActivityQuery query;
    query.since_seq = seq;
    return query;
  }
  static News appended_to(WorkspaceId id) {
    News news;
    news.append(id, 1);
    return news;
  }
  static News changed(WorkspaceId id) {
    News news;
    news.changed.insert(id);
    return news;
  }
  static News pruned(WorkspaceId id) {
    News news;
    news.pruned.insert(id);
    return news;
  }
  static News revoked() {
    News news;
    news.revoked.insert(TokenId::make(kNow));
    return news;
  }

  Memory memory;
  int asked = 0;
  std::function<void()> meanwhile;  // happens while the database is asked
  std::optional<Token> token = Token{};
  Result<DeliveryMode> delivery = DeliveryMode::poll;
  Result<Memory::Page> page = Memory::Page();
  const WorkspaceId one = WorkspaceId::make(kNow);
  const WorkspaceId other = WorkspaceId::make(kNow);
};

TEST_F(PostgresMemory, AsksOnceForWhatItMayRemember) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(find_token());
    EXPECT_EQ(find_delivery(one).value(), DeliveryMode::poll);
    EXPECT_TRUE(read(one, after(7)).value().empty());
  }
  EXPECT_EQ(asked, 3);
}

TEST_F(PostgresMemory, WithoutTrustEverythingIsAsked) {
  const auto ask_all = [&] {
    find_token();
    (void)find_delivery(one);
    (void)read(one, after(7));
  };
  ask_all();
  memory.distrust();
  EXPECT_EQ(asked_by(ask_all), 3);
  memory.trust(steady_clock::now() - std::chrono::milliseconds(1));
  EXPECT_EQ(asked_by(ask_all), 3);
}

TEST_F(PostgresMemory, WhatIsReadWithoutTrustIsNotRemembered) {
  memory.distrust();
  find_token();
  (void)find_delivery(one);
  (void)read(one, after(7));
  memory.trust(steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(asked_by([&] {
              find_token();
              (void)find_delivery(one);
              (void)read(one, after(7));
            }),
            3);
}

TEST_F(PostgresMemory, ARevokedTokenIsAskedForAgain) {
  find_token();
  memory.forget(revoked());
  token->revoked_at = kNow;
  EXPECT_EQ(find_token()->revoked_at, kNow);
}

TEST_F(PostgresMemory, ATokenThatWasReadBeforeARevocationIsNotKeptAfterIt) {
  meanwhile = [&] { memory.forget(revoked()); };
  find_token();
  meanwhile = nullptr;
  EXPECT_EQ(asked_by([&] { find_token(); }), 1);
}

TEST_F(PostgresMemory, ATokenThatIsNotThereMayBeThereTheNextTime) {
  token.reset();
  EXPECT_FALSE(find_token());
  token = Token{};
  EXPECT_TRUE(find_token());
}

TEST_F(PostgresMemory, AWorkspaceIsForgottenWhenItChangesAndNotWhenItsLogGrows) {
  (void)find_delivery(one);
  memory.forget(appended_to(one));
  memory.forget(pruned(one));
  memory.forget(changed(other));
  EXPECT_EQ(asked_by([&] { (void)find_delivery(one); }), 0);
  delivery = DeliveryMode::push;
  memory.forget(changed(one));
  EXPECT_EQ(find_delivery(one).value(), DeliveryMode::push);
}

TEST_F(PostgresMemory, AWorkspaceThatWasReadBeforeAChangeIsNotKeptAfterIt) {
  meanwhile = [&] { memory.forget(changed(one)); };
  (void)find_delivery(one);
  meanwhile = nullptr;
  delivery = errors::workspace_removed;
  EXPECT_FALSE(find_delivery(one));
}

TEST_F(PostgresMemory, ARefusalIsNotRemembered) {
  delivery = errors::workspace_not_found;
  page = errors::cursor_gone;
  EXPECT_FALSE(find_delivery(one));
  EXPECT_FALSE(read(one, after(7)));
  delivery = DeliveryMode::poll;
  page = Memory::Page();
  EXPECT_TRUE(find_delivery(one));
  EXPECT_TRUE(read(one, after(7)));
}

TEST_F(PostgresMemory, APageWithRowsIsReadEveryTime) {
  page->resize(2);
  EXPECT_EQ(asked_by([&] {
              (void)read(one, after(7));
              EXPECT_EQ(read(one, after(7)).value().size(), 2U);
            }),
            2);
}

TEST_F(PostgresMemory, ThatThereIsNothingHoldsForTheSameQuestionAlone) {
  (void)read(one, after(7));
  ActivityQuery filtered = after(7);
  filtered.chat_only = true;
  EXPECT_EQ(asked_by([&] {
              (void)read(one, after(6));
              (void)read(one, filtered);
              (void)read(other, after(7));
            }),
            3);
}

TEST_F(PostgresMemory, ThatThereIsNothingEndsWithWhateverHappensToTheLog) {
  for (const News& news : {appended_to(one), pruned(one), changed(one)}) {
    (void)read(one, after(7));
    memory.forget(news);
    EXPECT_EQ(asked_by([&] { (void)read(one, after(7)); }), 1);
  }
  memory.forget(appended_to(other));
  EXPECT_EQ(asked_by([&] { (void)read(one, after(7)); }), 0);
}

TEST_F(PostgresMemory, AnEmptyPageThatWasReadBeforeAnAppendIsNotKeptAfterIt) {
  meanwhile = [&] { memory.forget(appended_to(one)); };
  (void)read(one, after(7));
  meanwhile = nullptr;
  page->resize(1);
  EXPECT_EQ(read(one, after(7)).value().size(), 1U);
}

TEST_F(PostgresMemory, WhatDependsOnTheMomentIsReadEveryTime) {
  ActivityQuery recent = after(7);
  recent.not_before = kNow;
  ActivityQuery past = after(7);
  past.before = kNow;
  EXPECT_EQ(asked_by([&] {
              for (int i = 0; i < 2; ++i) (void)read(one, recent), (void)read(one, past);
            }),
            4);
}

TEST_F(PostgresMemory, OfManyQuestionsTheNewestAreRemembered) {
  for (int seq = 1; seq <= 5; ++seq) (void)read(one, after(seq));
  EXPECT_EQ(asked_by([&] {
              for (int seq = 2; seq <= 5; ++seq) (void)read(one, after(seq));
            }),
            0);
  EXPECT_EQ(asked_by([&] { (void)read(one, after(1)); }), 1);
}

TEST_F(PostgresMemory, TwoWhoAskTheSameAtOnceLeaveItOnce) {
  meanwhile = [&] {
    meanwhile = nullptr;
    (void)read(one, after(7));
  };
  (void)read(one, after(7));
  for (int seq = 1; seq <= 3; ++seq) (void)read(one, after(seq));
  EXPECT_EQ(asked_by([&] { (void)read(one, after(7)); }), 0);
}

TEST_F(PostgresMemory, MoreWorkspacesThanItHasRoomForAreAskedForAgain) {
  (void)find_delivery(one);
  for (std::size_t i = 0; i < ByWorkspace<DeliveryMode>::kMost; ++i) (void)find_delivery(WorkspaceId::make(kNow));
  EXPECT_EQ(asked_by([&] { (void)find_delivery(one); }), 1);
}

TEST_F(PostgresMemory, EverythingIsForgottenAtOnceAlsoWhatIsBeingRead) {
  const auto ask_all = [&] {
    find_token();
    (void)find_delivery(one);
    (void)read(one, after(7));
  };
  ask_all();
  memory.forget_everything();
  EXPECT_EQ(asked_by(ask_all), 3);
  memory.forget_everything();
  meanwhile = [&] { memory.forget_everything(); };
  ask_all();
  meanwhile = nullptr;
  EXPECT_EQ(asked_by(ask_all), 3);
}

TEST_F(PostgresMemory, KnowsWhetherItIsInUse) {
  EXPECT_FALSE(memory.was_asked());
  find_token();
  EXPECT_TRUE(memory.was_asked());
  EXPECT_FALSE(memory.was_asked());
}

}  // namespace
}  // namespace restante::postgres
