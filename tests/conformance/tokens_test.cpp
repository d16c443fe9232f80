#include <algorithm>
#include <atomic>
#include <thread>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

class Tokens : public StoreTest {
 protected:
  static NewToken fresh(TokenKind kind, std::optional<WorkspaceId> workspace, std::optional<Time> expires_at = {}) {
    const auto token = make_token();
    NewToken given;
    given.kind = kind;
    given.workspace_id = workspace;
    given.hash = token.hash;
    given.prefix = token.prefix;
    given.label = "label";
    given.expires_at = expires_at;
    return given;
  }
  Token add(const NewToken& token, Time now = at(0)) { return store->add_token(token, now).take().value(); }
  Commit<Result<RegisteredWorkspace>> redeem(TokenId enrolment, const NewToken& token, Time now) {
    CheckedRegistration entry = registration_for(*token.workspace_id);
    entry.enrolment = enrolment;
    entry.token = token;
    return store->register_agent(entry, now);
  }
};
RESTANTE_EVERY_BACKEND(Tokens);

TEST_P(Tokens, ATokenIsFoundByItsHashAndByNoOther) {
  const auto workspace = make_workspace().id;
  const auto given = fresh(TokenKind::sender, workspace, at(100));
  const auto added = add(given, at(3));
  reopen();
  const auto found = store->find_token(given.hash);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, added.id);
  EXPECT_EQ(found->kind, TokenKind::sender);
  EXPECT_EQ(found->workspace_id, workspace);
  EXPECT_EQ(found->prefix, given.prefix);
  EXPECT_EQ(found->label, "label");
  EXPECT_EQ(found->created_at, at(3));
  EXPECT_EQ(found->expires_at, at(100));
  EXPECT_FALSE(found->revoked_at);
  EXPECT_FALSE(found->last_used_at);
  Digest other = given.hash;
  other[31] ^= 1;
  EXPECT_FALSE(store->find_token(other));
}

TEST_P(Tokens, EveryKindIsKept) {
  for (const auto kind :
       {TokenKind::admin, TokenKind::workspace, TokenKind::sender, TokenKind::enrolment, TokenKind::session}) {
    const auto given = fresh(kind, std::nullopt);
    add(given);
    EXPECT_EQ(store->find_token(given.hash)->kind, kind);
  }
}

TEST_P(Tokens, TheListIsNewestFirstAndOfOneWorkspaceOrOfNone) {
  const auto a = make_workspace().id;
  const auto b = make_workspace().id;
  const auto older = add(fresh(TokenKind::workspace, a), at(1));
  const auto newer = add(fresh(TokenKind::sender, a), at(2));
  add(fresh(TokenKind::workspace, b), at(3));
  const auto admin = add(fresh(TokenKind::admin, std::nullopt), at(4));
  const auto of_a = store->list_tokens(a);
  ASSERT_EQ(of_a.size(), 2u);
  EXPECT_EQ(of_a[0].id, newer.id);
  EXPECT_EQ(of_a[1].id, older.id);
  const auto of_none = store->list_tokens(std::nullopt);
  ASSERT_EQ(of_none.size(), 1u);
  EXPECT_EQ(of_none[0].id, admin.id);
}

TEST_P(Tokens, RevokingReturnsWhetherItWasLiveAndKeepsTheFirstTime) {
  const auto given = fresh(TokenKind::workspace, make_workspace().id);
  const auto id = add(given).id;
  EXPECT_TRUE(store->revoke_token(id, at(5)).take().value());
  EXPECT_FALSE(store->revoke_token(id, at(6)).take().value());
  EXPECT_EQ(store->find_token(given.hash)->revoked_at, at(5));
  EXPECT_FALSE(store->revoke_token(TokenId::make(at(0)), at(6)).take().value());
}

TEST_P(Tokens, NoReadAfterTheAnswerToARevocationSeesTheTokenAliveHoweverManyAreReadingIt) {
  for (int round = 0; round < 30; ++round) {
    const auto given = fresh(TokenKind::admin, std::nullopt);
    const auto id = add(given).id;
    std::atomic<bool> answered{false};
    std::atomic<bool> ended{false};
    std::atomic<int> late{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        while (!ended) {
          const bool after = answered;
          if (!store->find_token(given.hash)->revoked_at && after) ++late;
        }
      });
    }
    EXPECT_TRUE(*store->revoke_token(id, at(5)).take());
    answered = true;
    EXPECT_TRUE(store->find_token(given.hash)->revoked_at);
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    ended = true;
    for (auto& reader : readers) reader.join();
    EXPECT_EQ(late, 0);
  }
}

TEST_P(Tokens, AnExpiredTokenCanBeRevoked) {
  const auto given = fresh(TokenKind::workspace, make_workspace().id, at(10));
  const auto id = add(given).id;
  EXPECT_FALSE(store->revoke_token(id, at(10)).take().value());
  EXPECT_FALSE(store->find_token(given.hash)->live(at(0))) << "also when the clock goes back";
}

TEST_P(Tokens, AnEnrolmentIsUsedUpByTheTokenItMakes) {
  const auto workspace = make_workspace().id;
  const auto enrolment = fresh(TokenKind::enrolment, workspace, at(100));
  const auto id = add(enrolment).id;
  const auto first = fresh(TokenKind::workspace, workspace);
  EXPECT_TRUE(redeem(id, first, at(50)).take());
  EXPECT_EQ(store->find_token(enrolment.hash)->revoked_at, at(50));
  EXPECT_TRUE(store->find_token(first.hash)->live(at(50)));
  const auto second = fresh(TokenKind::workspace, workspace);
  EXPECT_ERROR(redeem(id, second, at(51)).take(), errors::invalid_token);
  EXPECT_FALSE(store->find_token(second.hash));
}

TEST_P(Tokens, OnlyALiveEnrolmentForThatWorkspaceIsRedeemed) {
  const auto a = make_workspace().id;
  const auto b = make_workspace().id;
  const auto token = fresh(TokenKind::workspace, b);
  const auto bound = add(fresh(TokenKind::enrolment, a)).id;
  const auto expired = add(fresh(TokenKind::enrolment, b, at(10))).id;
  const auto other_kind = add(fresh(TokenKind::workspace, b)).id;
  const auto nothing = TokenId::make(at(0));
  for (const auto id : {bound, expired, other_kind, nothing}) {
    EXPECT_ERROR(redeem(id, token, at(10)).take(), errors::invalid_token);
  }
  EXPECT_FALSE(store->find_token(token.hash));
  EXPECT_FALSE(store->list_tokens(a).at(0).revoked_at) << "a refused enrolment is not used up";
  const auto unbound = add(fresh(TokenKind::enrolment, std::nullopt)).id;
  EXPECT_TRUE(redeem(unbound, token, at(10)).take());
}

TEST_P(Tokens, OfManyAtOnceOneRedeemsAnEnrolment) {
  const auto workspace = make_workspace().id;
  const auto id = add(fresh(TokenKind::enrolment, workspace)).id;
  std::vector<Commit<Result<RegisteredWorkspace>>> commits;
  for (int i = 0; i < 20; ++i) {
    commits.push_back(redeem(id, fresh(TokenKind::workspace, workspace), at(1)));
  }
  int redeemed = 0;
  for (auto& commit : commits) redeemed += commit.take().has_value() ? 1 : 0;
  EXPECT_EQ(redeemed, 1);
}

TEST_P(Tokens, AWorkspaceHasALiveTokenUntilItsLastOneIsRevokedOrExpires) {
  const auto workspace = make_workspace().id;
  EXPECT_FALSE(store->has_live_token(workspace, at(0)));
  const auto revoked = add(fresh(TokenKind::workspace, workspace)).id;
  add(fresh(TokenKind::workspace, workspace, at(10)));
  EXPECT_TRUE(store->has_live_token(workspace, at(0)));
  ASSERT_TRUE(store->revoke_token(revoked, at(1)).take().value());
  EXPECT_TRUE(store->has_live_token(workspace, at(9)));
  EXPECT_FALSE(store->has_live_token(workspace, at(10)));
}

TEST_P(Tokens, OnlyItsOwnTokensCountAsLiveOnesOfAWorkspace) {
  const auto workspace = make_workspace().id;
  add(fresh(TokenKind::enrolment, workspace));
  add(fresh(TokenKind::sender, workspace));
  add(fresh(TokenKind::workspace, make_workspace().id));
  EXPECT_FALSE(store->has_live_token(workspace, at(0)));
}

TEST_P(Tokens, ASessionIsOpenedByALiveTokenAndRevokedWithIt) {
  const auto workspace = make_workspace().id;
  for (const bool by_workspace : {false, true}) {
    const auto opener = add(fresh(TokenKind::sender, workspace));
    const auto other = add(fresh(TokenKind::sender, workspace));
    auto session = fresh(TokenKind::session, workspace);
    session.opened_by = opener.id;
    auto others = fresh(TokenKind::session, workspace);
    others.opened_by = other.id;
    EXPECT_EQ(add(session).opened_by, opener.id);
    add(others);
    reopen();
    EXPECT_EQ(store->find_token(session.hash)->opened_by, opener.id);
    const auto revoked = by_workspace ? store->revoke_workspace_token(workspace, opener.id, at(1)).take()
                                      : store->revoke_token(opener.id, at(1)).take();
    EXPECT_TRUE(revoked.value());
    EXPECT_EQ(store->find_token(session.hash)->revoked_at, at(1));
    EXPECT_TRUE(store->find_token(others.hash)->live(at(2)));
    auto late = fresh(TokenKind::session, workspace);
    late.opened_by = opener.id;
    EXPECT_TRUE(store->add_token(late, at(2)).take().error().is(errors::invalid_token));
    EXPECT_FALSE(store->find_token(late.hash));
  }
}

TEST_P(Tokens, OneSessionMoreThanATokenMayHaveEndsItsOldest) {
  const auto workspace = make_workspace().id;
  const TokenId link = add(fresh(TokenKind::sender, workspace)).id;
  const TokenId other = add(fresh(TokenKind::sender, workspace)).id;
  const auto open = [&](std::optional<TokenId> by, std::int64_t now) {
    NewToken session = fresh(TokenKind::session, by ? std::optional(workspace) : std::nullopt, at(1'000'000));
    session.opened_by = by;
    return store->open_session(session, at(now)).take().value();
  };
  const TokenId of_other = open(other, 0).session.id;
  const TokenId of_operator = open(std::nullopt, 0).session.id;
  std::vector<TokenId> sessions;
  for (int i = 0; i < kMostSessions; ++i) {
    const auto opened = open(link, 1 + i);
    EXPECT_TRUE(opened.ended.empty());
    sessions.push_back(opened.session.id);
  }
  ASSERT_TRUE(store->revoke_token(sessions[3], at(50)).take());
  EXPECT_TRUE(open(link, 51).ended.empty()) << "only live ones count";
  EXPECT_EQ(open(link, 52).ended, std::vector<TokenId>{sessions[0]});
  EXPECT_EQ(open(link, 53).ended, std::vector<TokenId>{sessions[1]});
  EXPECT_TRUE(store->find_token(sessions[0])->revoked_at);
  for (const TokenId& id : {sessions[2], of_other, of_operator, link}) EXPECT_FALSE(store->find_token(id)->revoked_at);
  for (int i = 1; i < kMostSessions; ++i) EXPECT_TRUE(open(std::nullopt, 60 + i).ended.empty());
  EXPECT_EQ(open(std::nullopt, 100).ended, std::vector<TokenId>{of_operator});
}

TEST_P(Tokens, ASessionThatIsOpenedAfterTheClockWasSetBackIsNotTheOneThatEnds) {
  const auto workspace = make_workspace().id;
  const TokenId link = add(fresh(TokenKind::sender, workspace)).id;
  for (const std::optional<TokenId> by : {std::optional(link), std::optional<TokenId>()}) {
    const auto open = [&](std::int64_t now) {
      NewToken session = fresh(TokenKind::session, by ? std::optional(workspace) : std::nullopt, at(1'000'000));
      session.opened_by = by;
      return store->open_session(session, at(now)).take().value();
    };
    const TokenId oldest = open(100).session.id;
    for (int i = 1; i < kMostSessions; ++i) EXPECT_TRUE(open(100 + i).ended.empty());
    const auto opened = open(50);
    EXPECT_EQ(opened.ended, std::vector<TokenId>{oldest});
    EXPECT_FALSE(store->find_token(opened.session.id)->revoked_at);
    EXPECT_EQ(open(51).ended, std::vector<TokenId>{opened.session.id}) << "the oldest of the others, by their times";
  }
}

TEST_P(Tokens, RowsOfTokensThatEndedLongAgoLeave) {
  const auto workspace = make_workspace().id;
  const TokenId live = add(fresh(TokenKind::sender, workspace)).id;
  const TokenId later = add(fresh(TokenKind::session, workspace, at(500))).id;
  std::vector<TokenId> dead;
  for (int i = 0; i < 3; ++i) dead.push_back(add(fresh(TokenKind::session, workspace, at(10 + i))).id);
  for (int i = 0; i < 2; ++i) {
    dead.push_back(add(fresh(TokenKind::sender, workspace)).id);
    ASSERT_TRUE(store->revoke_token(dead.back(), at(20)).take());
  }
  const auto left = [&] {
    return std::ranges::count_if(dead, [&](TokenId id) { return store->find_token(id).has_value(); });
  };
  const auto prune = [&](std::int64_t now, int limit) {
    return store->prune(at(0), at(0), at(now) + kDeadTokensStay, limit).take().value();
  };
  EXPECT_FALSE(prune(9, 100).more);
  EXPECT_EQ(left(), 5);
  EXPECT_TRUE(prune(30, 2).more);
  EXPECT_EQ(left(), 3) << "in bounded steps";
  while (prune(30, 2).more) continue;
  EXPECT_EQ(left(), 0);
  EXPECT_TRUE(store->find_token(live));
  EXPECT_TRUE(store->find_token(later)) << "it has not ended for that long";
}

}  // namespace
}  // namespace restante::testing
