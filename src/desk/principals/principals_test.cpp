#include "desk/principals/principals.h"

#include <gtest/gtest.h>

#include "desk/principals/tokens.h"
#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;

class PrincipalsTest : public ::testing::Test {
 protected:
  void expect_invalid(const Result<Principal>& found) {
    ASSERT_FALSE(found.has_value());
    EXPECT_TRUE(found.error().is(errors::invalid_token)) << found.error().code();
  }

  TestDesk desk;
  WorkspaceId workspace = desk.make_workspace();
};

TEST_F(PrincipalsTest, EveryKindOfTokenGivesItsRole) {
  const std::pair<TokenKind, Role> kKinds[] = {{TokenKind::workspace, Role::workspace},
                                               {TokenKind::sender, Role::sender},
                                               {TokenKind::enrolment, Role::enrolment},
                                               {TokenKind::admin, Role::admin}};
  for (const auto& [kind, role] : kKinds) {
    const auto of = kind == TokenKind::admin ? std::nullopt : std::optional(workspace);
    const auto found = desk.principals.by_token(desk.give_token(kind, of));
    ASSERT_TRUE(found.has_value()) << name_of(kind);
    EXPECT_EQ(found->role, role);
    EXPECT_EQ(found->workspace_id, of);
    EXPECT_TRUE(found->token_id);
    EXPECT_FALSE(found->by_session);
  }
  const auto admin = desk.principals.by_token(desk.admin_secret);
  ASSERT_TRUE(admin.has_value());
  EXPECT_TRUE(admin->is_admin());
  EXPECT_FALSE(admin->token_id);
}

TEST_F(PrincipalsTest, AnUnknownTokenIsInvalid) {
  const std::string live = desk.give_token(TokenKind::workspace, workspace);
  for (const std::string& secret :
       {std::string(), std::string("x"), live.substr(1), live + "x", std::string(43, ' '), make_token().secret,
        std::string(43, 'A'), std::string(1 << 20, 'A'), std::string(43, '\0'), std::string(42, 'A') + "!"}) {
    expect_invalid(desk.principals.by_token(secret));
    expect_invalid(desk.principals.by_session(secret));
  }
}

TEST_F(PrincipalsTest, ARevokedTokenIsInvalidAtOnce) {
  for (const TokenKind kind : {TokenKind::workspace, TokenKind::sender, TokenKind::enrolment, TokenKind::admin}) {
    const std::string secret = desk.give_token(kind, workspace);
    EXPECT_TRUE(desk.principals.by_token(secret));
    desk.revoke(secret);
    expect_invalid(desk.principals.by_token(secret));
    EXPECT_FALSE(desk.principals.open_session(secret));
  }
}

TEST_F(PrincipalsTest, ATokenExpiresAtItsVeryMoment) {
  const std::string secret = desk.give_token(TokenKind::sender, workspace, kStart + std::chrono::seconds(10));
  desk.clock.advance(std::chrono::seconds(10) - std::chrono::microseconds(1));
  EXPECT_TRUE(desk.principals.by_token(secret));
  desk.clock.advance(std::chrono::microseconds(1));
  expect_invalid(desk.principals.by_token(secret));
}

TEST_F(PrincipalsTest, ASessionIsNoBearerAndABearerNoSession) {
  for (const std::string& secret : {desk.admin_secret, desk.give_token(TokenKind::sender, workspace)}) {
    const auto session = desk.principals.open_session(secret);
    ASSERT_TRUE(session.has_value());
    EXPECT_NE(session->secret, secret);
    expect_invalid(desk.principals.by_token(session->secret));
    expect_invalid(desk.principals.by_session(secret));
    const auto who = desk.principals.by_session(session->secret);
    ASSERT_TRUE(who.has_value());
    EXPECT_TRUE(who->by_session);
    EXPECT_EQ(who->role, session->principal.role);
    EXPECT_EQ(who->workspace_id, session->principal.workspace_id);
  }
}

TEST_F(PrincipalsTest, AgentsAndEnrolmentsCannotSignIn) {
  for (const TokenKind kind : {TokenKind::workspace, TokenKind::enrolment}) {
    const auto session = desk.principals.open_session(desk.give_token(kind, workspace));
    ASSERT_FALSE(session.has_value());
    EXPECT_TRUE(session.error().is(errors::not_allowed));
  }
  const auto unknown = desk.principals.open_session(make_token().secret);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_TRUE(unknown.error().is(errors::invalid_token));
}

TEST_F(PrincipalsTest, ASessionEndsByTimeAndBySigningOut) {
  const auto first = desk.principals.open_session(desk.admin_secret);
  const auto second = desk.principals.open_session(desk.admin_secret);
  desk.principals.close_session(first->principal);
  expect_invalid(desk.principals.by_session(first->secret));
  EXPECT_TRUE(desk.principals.by_session(second->secret));
  desk.clock.advance(second->lifetime);
  expect_invalid(desk.principals.by_session(second->secret));
}

TEST_F(PrincipalsTest, ClosingTheSessionOfABearerTouchesNoToken) {
  const std::string secret = desk.give_token(TokenKind::sender, workspace);
  desk.principals.close_session(*desk.principals.by_token(secret));
  EXPECT_TRUE(desk.principals.by_token(secret));
}

TEST_F(PrincipalsTest, AReplacedAdminTokenIsInvalidWithItsSessionsAndHeldRequests) {
  const auto before = desk.principals.by_token(desk.admin_secret);
  const auto session = desk.principals.open_session(desk.admin_secret);
  const std::string sender = desk.give_token(TokenKind::sender, workspace);
  const auto person = desk.principals.open_session(sender);
  ASSERT_TRUE(before && session && person);
  const FreshToken fresh = make_token();
  desk.principals.replace_admin(fresh.hash);
  expect_invalid(desk.principals.by_token(desk.admin_secret));
  expect_invalid(desk.principals.by_session(session->secret));
  EXPECT_FALSE(desk.principals.still_live(*before));
  EXPECT_FALSE(desk.principals.still_live(session->principal));
  const auto after = desk.principals.by_token(fresh.secret);
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(after->is_admin());
  EXPECT_TRUE(desk.principals.still_live(*after));
  EXPECT_TRUE(desk.principals.by_session(person->secret)) << "people who were invited stay signed in";
}

TEST_F(PrincipalsTest, AnAdminTokenThatAnotherServerReplacedIsInvalidAndTheNewOneValidAtOnce) {
  std::optional<Digest> kept = sha256(desk.admin_secret);
  desk.principals.share_admin([&] { return kept; });
  const auto before = desk.principals.by_token(desk.admin_secret);
  ASSERT_TRUE(before.has_value());
  FreshToken fresh = make_token();
  kept = fresh.hash;
  EXPECT_TRUE(desk.principals.by_token(fresh.secret)) << "before any other call";
  expect_invalid(desk.principals.by_token(desk.admin_secret));
  EXPECT_FALSE(desk.principals.still_live(*before));
  fresh = make_token();
  kept = fresh.hash;
  desk.bell.rung(0);
  desk.principals.check_admin_token();
  EXPECT_EQ(desk.bell.rung(), revocation_topics(*before)) << "what it holds open ends";
  desk.principals.check_admin_token();
  kept.reset();
  EXPECT_TRUE(desk.principals.by_token(fresh.secret)) << "it cannot be read: the last known one is valid";
}

TEST_F(PrincipalsTest, ASessionOpenedWhileAnotherServerReplacesTheAdminTokenIsInvalid) {
  const auto old = sha256(desk.admin_secret);
  int looks = 0;
  desk.principals.share_admin([&]() -> std::optional<Digest> { return ++looks == 1 ? old : make_token().hash; });
  EXPECT_FALSE(desk.principals.open_session(desk.admin_secret));
  for (const Token& token : desk.store->list_tokens(std::nullopt)) EXPECT_FALSE(token.live(desk.clock.now()));
}

TEST_F(PrincipalsTest, ASessionEndsWithTheTokenItWasOpenedWith) {
  const std::string sender = desk.give_token(TokenKind::sender, workspace);
  const auto session = desk.principals.open_session(sender);
  const auto other = desk.principals.open_session(desk.give_token(TokenKind::sender, workspace));
  ASSERT_TRUE(session && other);
  const auto opener = desk.store->find_token(sha256(sender))->id;
  EXPECT_EQ(revocation_topics(*desk.principals.by_session(session->secret)),
            (std::vector{topic_of(*session->principal.token_id), topic_of(opener)}));
  desk.revoke(sender);
  expect_invalid(desk.principals.by_session(session->secret));
  EXPECT_FALSE(desk.principals.still_live(session->principal));
  EXPECT_TRUE(desk.principals.by_session(other->secret)) << "opened with another";
}

TEST_F(PrincipalsTest, RequestsHeldByTheOperatorAreRungForANewTokenAndForSigningOut) {
  const auto session = desk.principals.open_session(desk.admin_secret);
  const auto topics = revocation_topics(session->principal);
  desk.bell.rung(0);
  desk.principals.replace_admin(make_token().hash);
  const auto rung = desk.bell.rung();
  ASSERT_EQ(rung.size(), 1u);
  EXPECT_NE(std::find(topics.begin(), topics.end(), rung[0]), topics.end());
  EXPECT_EQ(revocation_topics(Principal{Principal::Role::admin, {}, {}, false}), rung);
  desk.principals.close_session(session->principal);
  EXPECT_EQ(desk.bell.rung(), std::vector{topic_of(*session->principal.token_id)});
}

TEST_F(PrincipalsTest, UsesOfTokensAreWrittenTogetherAndAtMostOnceAMinute) {
  const std::string secret = desk.give_token(TokenKind::workspace, workspace);
  const auto used = [&] {
    desk.principals.flush_uses();
    return desk.store->find_token(sha256(secret))->last_used_at;
  };
  EXPECT_FALSE(used());
  EXPECT_TRUE(desk.principals.by_token(secret));
  EXPECT_FALSE(desk.store->find_token(sha256(secret))->last_used_at);
  EXPECT_EQ(used(), kStart);
  desk.clock.advance(std::chrono::seconds(59));
  EXPECT_TRUE(desk.principals.by_token(secret));
  EXPECT_EQ(used(), kStart);
  desk.clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(desk.principals.by_token(secret));
  EXPECT_EQ(used(), kStart + std::chrono::seconds(60));
  desk.clock.advance(std::chrono::minutes(5));
  desk.revoke(secret);
  expect_invalid(desk.principals.by_token(secret));
  EXPECT_EQ(used(), kStart + std::chrono::seconds(60)) << "an invalid token is not recorded";
}

TEST_F(PrincipalsTest, AnUnreachableStoreThrowsAndAllowsNothing) {
  TestFolder folder;
  // Without its tables a store answers every question with Unavailable.
  sqlite::Options options{kStart};
  options.migrate = false;
  const auto broken = sqlite::open(folder.path() / "empty.db", options);
  Principals principals(*broken, desk.bell, desk.clock, sha256(desk.admin_secret));
  const std::string secret = desk.give_token(TokenKind::workspace, workspace);
  EXPECT_THROW((void)principals.by_token(secret), Unavailable);
  EXPECT_THROW((void)principals.by_session(secret), Unavailable);
  EXPECT_THROW((void)principals.open_session(desk.admin_secret), Unavailable);
}

}  // namespace
}  // namespace restante::desk
