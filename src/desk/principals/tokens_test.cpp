#include "desk/principals/tokens.h"

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

struct TokensTest : ::testing::Test {
  TestDesk desk;
  Tokens tokens{*desk.store, desk.bell, desk.clock, desk.log};
  WorkspaceId workspace = desk.make_workspace();
};

TEST_F(TokensTest, AnIssuedTokenActsForItsWorkspaceUntilItIsRevoked) {
  const auto issued = tokens.issue(TokenKind::workspace, workspace, "laptop");
  ASSERT_TRUE(issued.has_value());
  const auto who = desk.principals.by_token(issued->secret);
  ASSERT_TRUE(who.has_value());
  EXPECT_TRUE(who->is_agent_of(workspace));
  EXPECT_TRUE(desk.principals.still_live(*who));
  ASSERT_TRUE(tokens.revoke(workspace, issued->token.id).has_value());
  EXPECT_FALSE(desk.principals.by_token(issued->secret).has_value());
  EXPECT_FALSE(desk.principals.still_live(*who)) << "held requests must notice it";
}

TEST_F(TokensTest, AnInvitationWithoutAWorkspaceIsListedAndRevoked) {
  const auto open = tokens.issue(TokenKind::enrolment, std::nullopt, "for Ada");
  const auto bound = tokens.issue(TokenKind::enrolment, workspace, "");
  const auto session = desk.give_token(TokenKind::session, std::nullopt);
  ASSERT_EQ(tokens.invites().size(), 1u) << "neither bound ones nor the operator's sessions";
  EXPECT_EQ(tokens.invites()[0].label, "for Ada");
  EXPECT_TRUE(tokens.revoke_invite(bound->token.id).error().is(errors::token_not_found));
  EXPECT_TRUE(tokens.revoke_invite(desk.store->find_token(sha256(session))->id).error().is(errors::token_not_found));
  ASSERT_TRUE(tokens.revoke_invite(open->token.id).has_value());
  EXPECT_FALSE(desk.principals.by_token(open->secret).has_value());
  EXPECT_TRUE(tokens.revoke_invite(open->token.id).error().is(errors::token_not_found));
}

TEST_F(TokensTest, RevokingRingsTheTokensTopic) {
  const auto issued = tokens.issue(TokenKind::sender, workspace, "");
  desk.bell.rung(0);
  ASSERT_TRUE(tokens.revoke(workspace, issued->token.id).has_value());
  EXPECT_EQ(desk.bell.rung(), std::vector{topic_of(issued->token.id)});
}

TEST_F(TokensTest, AnotherWorkspacesTokenIsNotFound) {
  const auto issued = tokens.issue(TokenKind::workspace, workspace, "");
  const auto other = desk.make_workspace();
  EXPECT_TRUE(tokens.revoke(other, issued->token.id).error().is(errors::token_not_found));
  EXPECT_TRUE(tokens.revoke(workspace, TokenId::make(kStart)).error().is(errors::token_not_found));
  EXPECT_TRUE(desk.principals.by_token(issued->secret).has_value());
}

TEST_F(TokensTest, AnEnrolmentIsValidForADay) {
  const auto issued = tokens.issue(TokenKind::enrolment, workspace, "");
  EXPECT_TRUE(desk.principals.by_token(issued->secret).has_value());
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_FALSE(desk.principals.by_token(issued->secret).has_value());
}

TEST_F(TokensTest, NothingIsIssuedForAMissingWorkspace) {
  EXPECT_TRUE(tokens.issue(TokenKind::sender, WorkspaceId::make(kStart), "").error().is(errors::workspace_not_found));
  ASSERT_TRUE(desk.workspaces.remove(workspace).has_value());
  EXPECT_TRUE(tokens.issue(TokenKind::sender, workspace, "").error().is(errors::workspace_removed));
}

}  // namespace
}  // namespace restante::desk
