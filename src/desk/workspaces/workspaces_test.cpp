#include "desk/workspaces/workspaces.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using Role = Principal::Role;

class WorkspacesTest : public ::testing::Test {
 protected:
  struct Created {
    Workspace workspace;
    std::string enrolment_token;
    Time enrolment_expires_at;
  };
  Created create() {
    NewWorkspace wanted;
    wanted.name = "laptop";
    const Enrolment enrolment = desk.workspaces.enrol(wanted);
    const auto created = desk.workspaces.create(wanted).take();
    EXPECT_TRUE(created.has_value());
    return {created.value(), enrolment.token, enrolment.expires_at};
  }
  Principal who(std::string_view secret) {
    const auto principal = desk.principals.by_token(secret);
    EXPECT_TRUE(principal.has_value());
    return principal ? *principal : Principal{};
  }

  TestDesk desk;
  const Principal admin{Role::admin, {}, {}, false};
};

TEST_F(WorkspacesTest, AreCreatedAwaitingTheirAgentWithATokenForADay) {
  const auto created = create();
  EXPECT_EQ(created.workspace.status, WorkspaceStatus::awaiting_agent);
  EXPECT_EQ(created.enrolment_expires_at, kStart + std::chrono::hours(24));
  EXPECT_EQ(who(created.enrolment_token).role, Role::enrolment);
  desk.clock.advance(std::chrono::hours(24));
  EXPECT_FALSE(desk.principals.by_token(created.enrolment_token));
}

TEST_F(WorkspacesTest, AnEnrolmentTokenGivesAnAgentTokenExactlyOnce) {
  const auto created = create();
  const Principal enrolling = who(created.enrolment_token);
  const auto first = desk.workspaces.register_agent(enrolling, {});
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(who(first->auth_token).is_agent_of(created.workspace.id));
  EXPECT_FALSE(desk.principals.by_token(created.enrolment_token)) << "used up";
  const auto second = desk.workspaces.register_agent(enrolling, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().is(errors::invalid_token));
}

TEST_F(WorkspacesTest, EnrollingReturnsANewTokenAlthoughTheAgentHasOne) {
  const auto created = create();
  const std::string old = desk.give_token(TokenKind::workspace, created.workspace.id);
  const auto entered = desk.workspaces.register_agent(who(created.enrolment_token), {});
  ASSERT_TRUE(entered.has_value());
  EXPECT_FALSE(entered->auth_token.empty());
  EXPECT_TRUE(desk.principals.by_token(old));
}

TEST_F(WorkspacesTest, RegisteringAgainWithItsOwnTokenGivesNoSecondOne) {
  const auto created = create();
  const std::string secret = desk.give_token(TokenKind::workspace, created.workspace.id);
  Registration registration;
  registration.agent_card = R"({"name":"x"})";
  const auto entered = desk.workspaces.register_agent(who(secret), registration);
  ASSERT_TRUE(entered.has_value());
  EXPECT_EQ(entered->auth_token, "");
  EXPECT_EQ(entered->workspace.status, WorkspaceStatus::online);
  EXPECT_EQ(entered->workspace.agent_card, R"({"name":"x"})");
  EXPECT_EQ(entered->workspace.delivery_mode, DeliveryMode::poll);
  EXPECT_EQ(desk.bell.rung(), std::vector<std::string>{topic_of(created.workspace.id)});
}

TEST_F(WorkspacesTest, RegisteringWithoutACardKeepsTheOneThatIsThere) {
  const WorkspaceId id = create().workspace.id;
  Registration registration;
  registration.id = id;
  registration.agent_card = R"({"name":"a"})";
  ASSERT_TRUE(desk.workspaces.register_agent(admin, registration));
  registration.agent_card.clear();
  ASSERT_TRUE(desk.workspaces.register_agent(admin, registration));
  EXPECT_EQ(desk.workspaces.find(id)->agent_card, R"({"name":"a"})");
  registration.agent_card = "{}";
  ASSERT_TRUE(desk.workspaces.register_agent(admin, registration));
  EXPECT_EQ(desk.workspaces.find(id)->agent_card, "{}");
}

TEST_F(WorkspacesTest, AsAdminATokenIsMadeOnlyWhereThereIsNone) {
  const auto created = create();
  Registration registration;
  registration.id = created.workspace.id;
  const auto first = desk.workspaces.register_agent(admin, registration);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->auth_token.empty());
  EXPECT_EQ(desk.workspaces.register_agent(admin, registration)->auth_token, "");
  desk.revoke(first->auth_token);
  EXPECT_FALSE(desk.workspaces.register_agent(admin, registration)->auth_token.empty());
}

TEST_F(WorkspacesTest, NoAgentRegistersForAnother) {
  const auto mine = create();
  const auto other = create();
  for (const std::string& secret : {mine.enrolment_token, desk.give_token(TokenKind::workspace, mine.workspace.id)}) {
    Registration registration;
    registration.id = other.workspace.id;
    const auto entered = desk.workspaces.register_agent(who(secret), registration);
    ASSERT_FALSE(entered.has_value());
    EXPECT_TRUE(entered.error().is(errors::invalid_token));
  }
  EXPECT_TRUE(desk.principals.by_token(mine.enrolment_token)) << "a refusal uses nothing up";
}

// A sender is a person with one chat: by registering it would get the agent's token.
TEST_F(WorkspacesTest, ASenderIsNoAgentOfItsWorkspace) {
  const auto created = create();
  const Principal sender = who(desk.give_token(TokenKind::sender, created.workspace.id));
  Registration registration;
  registration.url = "https://attacker.example/";
  registration.delivery_mode = DeliveryMode::push;
  for (const bool by_session : {false, true}) {
    Principal person = sender;
    person.by_session = by_session;
    const auto entered = desk.workspaces.register_agent(person, registration);
    ASSERT_FALSE(entered.has_value());
    EXPECT_TRUE(entered.error().is(errors::invalid_token));
  }
  EXPECT_EQ(desk.workspaces.find(created.workspace.id)->url, "");
  EXPECT_FALSE(desk.store->has_live_token(created.workspace.id, kStart));
}

TEST_F(WorkspacesTest, PushNeedsAUrlAndIsRefusedBeforeATokenIsUsedUp) {
  const auto created = create();
  Registration registration;
  registration.delivery_mode = DeliveryMode::push;
  const auto entered = desk.workspaces.register_agent(who(created.enrolment_token), registration);
  ASSERT_FALSE(entered.has_value());
  EXPECT_TRUE(entered.error().is(errors::bad_field));
  EXPECT_TRUE(desk.principals.by_token(created.enrolment_token));
}

TEST_F(WorkspacesTest, AMissingIdIsCreatedByTheAdminAndByNoAgent) {
  Registration registration;
  EXPECT_TRUE(desk.workspaces.register_agent(admin, registration).error().is(errors::bad_field)) << "no id at all";
  registration.id = WorkspaceId::make(kStart);
  EXPECT_TRUE(desk.workspaces.find(*registration.id).error().is(errors::workspace_not_found));
  const Principal agent = who(desk.give_token(TokenKind::workspace, create().workspace.id));
  EXPECT_TRUE(desk.workspaces.register_agent(agent, registration).error().is(errors::invalid_token));
  EXPECT_FALSE(desk.workspaces.register_agent(admin, registration)->auth_token.empty());
  EXPECT_TRUE(desk.workspaces.find(*registration.id).has_value());
}

struct Sign {
  const char* name;
  void (*give)(TestDesk&, WorkspaceId);
};

TEST_F(WorkspacesTest, AreOfflineAfterNinetySecondsWithoutASign) {
  const Sign kSigns[] = {
      {"heartbeat", [](TestDesk& d, WorkspaceId id) { EXPECT_TRUE(d.workspaces.beat(id, {}).take()); }},
      {"poll",
       [](TestDesk& d, WorkspaceId id) {
         d.presence.poll(id);
         d.presence.flush();
       }},
  };
  for (const Sign& sign : kSigns) {
    SCOPED_TRACE(sign.name);
    const WorkspaceId id = create().workspace.id;
    const auto status = [&] { return desk.workspaces.find(id)->status; };
    desk.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(status(), WorkspaceStatus::awaiting_agent) << "never seen is not offline";
    sign.give(desk, id);
    EXPECT_EQ(status(), WorkspaceStatus::online);
    desk.clock.advance(std::chrono::seconds(90));
    EXPECT_EQ(status(), WorkspaceStatus::online);
    desk.clock.advance(std::chrono::microseconds(1));
    EXPECT_EQ(status(), WorkspaceStatus::offline);
    sign.give(desk, id);
    EXPECT_EQ(status(), WorkspaceStatus::online);
  }
}

TEST_F(WorkspacesTest, TheLaterOfBothSignsCounts) {
  Workspace workspace;
  workspace.status = WorkspaceStatus::online;
  workspace.last_heartbeat_at = kStart;
  workspace.last_poll_at = kStart + std::chrono::seconds(60);
  EXPECT_EQ(status_now(workspace, kStart + std::chrono::seconds(150)), WorkspaceStatus::online);
  EXPECT_EQ(status_now(workspace, kStart + std::chrono::seconds(151)), WorkspaceStatus::offline);
  std::swap(workspace.last_heartbeat_at, workspace.last_poll_at);
  EXPECT_EQ(status_now(workspace, kStart + std::chrono::seconds(150)), WorkspaceStatus::online);
  workspace.status = WorkspaceStatus::removed;
  EXPECT_EQ(status_now(workspace, kStart + std::chrono::hours(9)), WorkspaceStatus::removed);
}

TEST_F(WorkspacesTest, ErrorsDegradeAndRecoveryBringsItBack) {
  const WorkspaceId id = create().workspace.id;
  const auto after = [&](std::optional<double> rate) {
    Heartbeat beat;
    beat.error_rate = rate;
    EXPECT_TRUE(desk.workspaces.beat(id, beat).take());
    return desk.workspaces.find(id)->status;
  };
  EXPECT_EQ(after(0.0), WorkspaceStatus::online);
  EXPECT_EQ(after(0.5), WorkspaceStatus::degraded);
  EXPECT_EQ(after(0.3), WorkspaceStatus::degraded);
  EXPECT_EQ(after(0.1), WorkspaceStatus::degraded);
  EXPECT_EQ(after(0.09), WorkspaceStatus::online);
  EXPECT_EQ(after(0.49), WorkspaceStatus::online);
}

TEST_F(WorkspacesTest, TheListShowsTheStatusOfNow) {
  const WorkspaceId id = create().workspace.id;
  EXPECT_TRUE(desk.workspaces.beat(id, {}).take());
  EXPECT_EQ(desk.workspaces.list().at(0).status, WorkspaceStatus::online);
  desk.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(desk.workspaces.list().at(0).status, WorkspaceStatus::offline);
}

}  // namespace
}  // namespace restante::desk
