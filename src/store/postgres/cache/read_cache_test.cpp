#include "store/postgres/cache/read_cache.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/crypto.h"
#include "model/errors.h"

namespace restante::postgres {
namespace {

using std::chrono::steady_clock;

const Time kNow(std::chrono::seconds(1'800'000'000));
const Digest kHash = sha256("secret");

class PostgresReadCache : public ::testing::Test {
 protected:
  PostgresReadCache() { read_cache.trust(steady_clock::now() + std::chrono::hours(1)); }

  std::optional<Token> find_token() {
    return read_cache.find_token(kHash, [&] {
      ++reads;
      if (meanwhile) meanwhile();
      return token;
    });
  }
  Result<DeliveryMode> find_delivery(WorkspaceId id) {
    return read_cache.find_delivery(id, [&] {
      ++reads;
      if (meanwhile) meanwhile();
      return delivery;
    });
  }
  Result<ReadCache::Page> read(WorkspaceId id, const InboxQuery& query) {
    return read_cache.read_page(id, query, [&] {
      ++reads;
      if (meanwhile) meanwhile();
      return page;
    });
  }
  // How many reads of the database all of these cause.
  int reads_by(const std::function<void()>& queries) {
    const int before = reads;
    queries();
    return reads - before;
  }
  static InboxQuery after(std::int64_t seq) {
    InboxQuery query;
    query.since_seq = seq;
    return query;
  }
  static ChangeSet appended_to(WorkspaceId id) {
    ChangeSet change_set;
    change_set.append(id, 1);
    return change_set;
  }
  static ChangeSet changed(WorkspaceId id) {
    ChangeSet change_set;
    change_set.changed.insert(id);
    return change_set;
  }
  static ChangeSet pruned(WorkspaceId id) {
    ChangeSet change_set;
    change_set.pruned.insert(id);
    return change_set;
  }
  static ChangeSet revoked() {
    ChangeSet change_set;
    change_set.revoked.insert(TokenId::make(kNow));
    return change_set;
  }

  ReadCache read_cache;
  int reads = 0;
  std::function<void()> meanwhile;  // runs during a read of the database
  std::optional<Token> token = Token{};
  Result<DeliveryMode> delivery = DeliveryMode::poll;
  Result<ReadCache::Page> page = ReadCache::Page();
  const WorkspaceId one = WorkspaceId::make(kNow);
  const WorkspaceId other = WorkspaceId::make(kNow);
};

TEST_F(PostgresReadCache, ReadsOnceWhatItMayKeep) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(find_token());
    EXPECT_EQ(find_delivery(one).value(), DeliveryMode::poll);
    EXPECT_TRUE(read(one, after(7)).value().empty());
  }
  EXPECT_EQ(reads, 3);
}

TEST_F(PostgresReadCache, WithoutTrustEverythingIsReadFromTheDatabase) {
  const auto read_all = [&] {
    find_token();
    (void)find_delivery(one);
    (void)read(one, after(7));
  };
  read_all();
  read_cache.distrust();
  EXPECT_EQ(reads_by(read_all), 3);
  read_cache.trust(steady_clock::now() - std::chrono::milliseconds(1));
  EXPECT_EQ(reads_by(read_all), 3);
}

TEST_F(PostgresReadCache, AnswersReadWithoutTrustAreNotKept) {
  read_cache.distrust();
  find_token();
  (void)find_delivery(one);
  (void)read(one, after(7));
  read_cache.trust(steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(reads_by([&] {
              find_token();
              (void)find_delivery(one);
              (void)read(one, after(7));
            }),
            3);
}

TEST_F(PostgresReadCache, ARevokedTokenIsReadAgain) {
  find_token();
  read_cache.forget(revoked());
  token->revoked_at = kNow;
  EXPECT_EQ(find_token()->revoked_at, kNow);
}

TEST_F(PostgresReadCache, ATokenThatWasReadBeforeARevocationIsNotKeptAfterIt) {
  meanwhile = [&] { read_cache.forget(revoked()); };
  find_token();
  meanwhile = nullptr;
  EXPECT_EQ(reads_by([&] { find_token(); }), 1);
}

TEST_F(PostgresReadCache, AnUnknownTokenIsReadAgain) {
  token.reset();
  EXPECT_FALSE(find_token());
  token = Token{};
  EXPECT_TRUE(find_token());
}

TEST_F(PostgresReadCache, AWorkspaceIsForgottenWhenItChangesAndNotWhenItsInboxGrows) {
  (void)find_delivery(one);
  read_cache.forget(appended_to(one));
  read_cache.forget(pruned(one));
  read_cache.forget(changed(other));
  EXPECT_EQ(reads_by([&] { (void)find_delivery(one); }), 0);
  delivery = DeliveryMode::push;
  read_cache.forget(changed(one));
  EXPECT_EQ(find_delivery(one).value(), DeliveryMode::push);
}

TEST_F(PostgresReadCache, AWorkspaceThatWasReadBeforeAChangeIsNotKeptAfterIt) {
  meanwhile = [&] { read_cache.forget(changed(one)); };
  (void)find_delivery(one);
  meanwhile = nullptr;
  delivery = errors::workspace_removed;
  EXPECT_FALSE(find_delivery(one));
}

TEST_F(PostgresReadCache, AnErrorIsNotKept) {
  delivery = errors::workspace_not_found;
  page = errors::cursor_gone;
  EXPECT_FALSE(find_delivery(one));
  EXPECT_FALSE(read(one, after(7)));
  delivery = DeliveryMode::poll;
  page = ReadCache::Page();
  EXPECT_TRUE(find_delivery(one));
  EXPECT_TRUE(read(one, after(7)));
}

TEST_F(PostgresReadCache, APageWithRowsIsReadEveryTime) {
  page->resize(2);
  EXPECT_EQ(reads_by([&] {
              (void)read(one, after(7));
              EXPECT_EQ(read(one, after(7)).value().size(), 2U);
            }),
            2);
}

TEST_F(PostgresReadCache, AnEmptyPageIsKeptForTheSameQueryOnly) {
  (void)read(one, after(7));
  InboxQuery filtered = after(7);
  filtered.chat_only = true;
  EXPECT_EQ(reads_by([&] {
              (void)read(one, after(6));
              (void)read(one, filtered);
              (void)read(other, after(7));
            }),
            3);
}

TEST_F(PostgresReadCache, AnEmptyPageIsForgottenWithEveryChangeOfTheInbox) {
  for (const ChangeSet& change_set : {appended_to(one), pruned(one), changed(one)}) {
    (void)read(one, after(7));
    read_cache.forget(change_set);
    EXPECT_EQ(reads_by([&] { (void)read(one, after(7)); }), 1);
  }
  read_cache.forget(appended_to(other));
  EXPECT_EQ(reads_by([&] { (void)read(one, after(7)); }), 0);
}

TEST_F(PostgresReadCache, AnEmptyPageThatWasReadBeforeAnAppendIsNotKeptAfterIt) {
  meanwhile = [&] { read_cache.forget(appended_to(one)); };
  (void)read(one, after(7));
  meanwhile = nullptr;
  page->resize(1);
  EXPECT_EQ(read(one, after(7)).value().size(), 1U);
}

TEST_F(PostgresReadCache, AQueryByTimeIsReadEveryTime) {
  InboxQuery recent = after(7);
  recent.not_before = kNow;
  InboxQuery past = after(7);
  past.before = kNow;
  EXPECT_EQ(reads_by([&] {
              for (int i = 0; i < 2; ++i) (void)read(one, recent), (void)read(one, past);
            }),
            4);
}

TEST_F(PostgresReadCache, OfManyQueriesTheNewestAreKept) {
  for (int seq = 1; seq <= 5; ++seq) (void)read(one, after(seq));
  EXPECT_EQ(reads_by([&] {
              for (int seq = 2; seq <= 5; ++seq) (void)read(one, after(seq));
            }),
            0);
  EXPECT_EQ(reads_by([&] { (void)read(one, after(1)); }), 1);
}

TEST_F(PostgresReadCache, TwoEqualQueriesAtOnceAreKeptOnce) {
  meanwhile = [&] {
    meanwhile = nullptr;
    (void)read(one, after(7));
  };
  (void)read(one, after(7));
  for (int seq = 1; seq <= 3; ++seq) (void)read(one, after(seq));
  EXPECT_EQ(reads_by([&] { (void)read(one, after(7)); }), 0);
}

TEST_F(PostgresReadCache, WithTooManyWorkspacesAllAreReadAgain) {
  (void)find_delivery(one);
  for (std::size_t i = 0; i < WorkspaceCache<DeliveryMode>::kMost; ++i) (void)find_delivery(WorkspaceId::make(kNow));
  EXPECT_EQ(reads_by([&] { (void)find_delivery(one); }), 1);
}

TEST_F(PostgresReadCache, ForgetEverythingAlsoDropsReadsInProgress) {
  const auto read_all = [&] {
    find_token();
    (void)find_delivery(one);
    (void)read(one, after(7));
  };
  read_all();
  read_cache.forget_everything();
  EXPECT_EQ(reads_by(read_all), 3);
  read_cache.forget_everything();
  meanwhile = [&] { read_cache.forget_everything(); };
  read_all();
  meanwhile = nullptr;
  EXPECT_EQ(reads_by(read_all), 3);
}

TEST_F(PostgresReadCache, KnowsWhetherItIsInUse) {
  EXPECT_FALSE(read_cache.was_used());
  find_token();
  EXPECT_TRUE(read_cache.was_used());
  EXPECT_FALSE(read_cache.was_used());
}

}  // namespace
}  // namespace restante::postgres
