// Tests what the managing commands send and show, without a server.
#include <gmock/gmock.h>

#include "cli/format.h"
#include "cli/options.h"
#include "cli/remote/test_remote.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(WorkspaceList, ShowsEachWorkspaceItsStatusAndWhenItWasLastSeen) {
  const auto shown = format_workspaces(
      json(
          R"([{"id":"i1","name":"Laptop","status":"online","delivery_mode":"poll","last_heartbeat_at":"2026-11-15T11:50:00.000000Z",
               "last_poll_at":"2026-11-15T11:58:00.000000Z","listening":true,"silence":null,"usual_poll_gap_seconds":0.01},
              {"id":"i3","name":"Idle","status":"online","delivery_mode":"poll","last_heartbeat_at":"2026-11-15T11:59:50.000000Z",
               "last_poll_at":"2026-11-15T11:53:00.000000Z","listening":false,"silence":"silent for 7 min","usual_poll_gap_seconds":5},
              {"id":"i4","name":"Slow","status":"online","delivery_mode":"poll","last_heartbeat_at":null,
               "last_poll_at":"2026-11-15T11:59:20.000000Z","listening":false,"silence":null,"usual_poll_gap_seconds":58.6},
              {"id":"i2","name":"New","status":"awaiting_agent","delivery_mode":"push","last_heartbeat_at":null,"last_poll_at":null}])"),
      kNow, Colours::off);
  EXPECT_EQ(shown,
            "NAME    STATUS          MODE  LAST SEEN  LISTENS           ID\n"
            "Laptop  online          poll  2 min ago  now               i1\n"
            "Idle    online          poll  10 s ago   silent for 7 min  i3\n"
            "Slow    online          poll  40 s ago   every 59 s        i4\n"
            "New     awaiting agent  push  never                        i2\n");
}

TEST(WorkspaceList, WithoutAnyShowsHowToCreateOne) {
  EXPECT_THAT(format_workspaces(json("[]"), kNow, Colours::off), HasSubstr("restante workspace create"));
}

TEST(WorkspaceShow, LeavesOutEmptyMembers) {
  const auto shown = format_workspace(
      json(
          R"({"id":"i1","name":"Laptop","role":null,"status":"offline","active_tasks":0,"last_error_rate":0.25,"agent_card":{"a":1}})"),
      kNow, Colours::off);
  EXPECT_THAT(shown,
              AllOf(HasSubstr("Status      offline\n"), HasSubstr("Error rate  0.25\n"), HasSubstr(R"({"a":1})")));
  EXPECT_THAT(shown, AllOf(Not(HasSubstr("Role")), Not(HasSubstr("Active tasks")), Not(HasSubstr("Parent"))));
}

TEST(WorkspaceCreate, PrintsTheLineToPasteOnASeparateLine) {
  const auto shown = format_created(
      json(
          R"({"id":"i1","name":"Laptop","connection":{"connect_command":"restante connect --url u --enrol t","expires_at":"2026-11-16T12:00:00.000000Z"}})"),
      kNow);
  EXPECT_THAT(shown,
              AllOf(HasSubstr("\n  restante connect --url u --enrol t\n"), HasSubstr("in 24 h"), HasSubstr("i1")));
}

TEST(WorkspaceSet, TurnsPairsIntoAPatch) {
  EXPECT_EQ(patch_body({"name=a=b", "parent_id=", R"(agent_card={"x": 1})", "url=https://h/x"}),
            R"({"name":"a=b","parent_id":"","agent_card":{"x":1},"url":"https://h/x"})");
  EXPECT_EQ(patch_body({R"(role=a "b" \)"}), R"({"role":"a \"b\" \\"})");
}

TEST(WorkspaceSet, RefusesAnUnknownKeyAndSuggestsTheRightOne) {
  const auto meant = failure_of([] { patch_body({"rol=x"}); });
  EXPECT_EQ(meant.exit_code(), kExitUsage);
  EXPECT_THAT(meant.what(), HasSubstr("did you mean role?"));
  EXPECT_THAT(refusal([] { patch_body({"status=online"}); }), HasSubstr("name, role, parent_id"));
  EXPECT_THAT(refusal([] { patch_body({"name"}); }), HasSubstr("name=VALUE"));
  EXPECT_THAT(refusal([] { patch_body({"name=a", "name=b"}); }), HasSubstr("twice"));
  EXPECT_THAT(refusal([] { patch_body({"agent_card=[1]"}); }), HasSubstr("JSON object"));
}

constexpr std::string_view kTokens =
    R"([{"id":"01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42","kind":"workspace","prefix":"q3vX0b-9","label":"cron",
         "created_at":"2026-11-15T10:00:00.000000Z","last_used_at":"2026-11-15T11:59:50.000000Z","expires_at":null,"revoked_at":null},
        {"id":"t2","kind":"enrolment","prefix":"AAAAAAAA","label":null,"created_at":"2026-11-15T11:00:00.000000Z",
         "last_used_at":null,"expires_at":"2026-11-16T11:00:00.000000Z","revoked_at":null},
        {"id":"t3","kind":"enrolment","prefix":"BBBBBBBB","label":"x","created_at":"2026-11-13T11:00:00.000000Z",
         "last_used_at":null,"expires_at":"2026-11-14T11:00:00.000000Z","revoked_at":null},
        {"id":"t4","kind":"sender","prefix":"q3vX0b-9","label":"Ada","created_at":"2026-11-13T11:00:00.000000Z",
         "last_used_at":null,"expires_at":null,"revoked_at":"2026-11-14T11:00:00.000000Z"}])";

TEST(TokenList, ShowsBeginningsUsesAndStates) {
  EXPECT_EQ(
      format_tokens(json(kTokens), kNow, Colours::off),
      "TOKEN      KIND       LABEL  CREATED     LAST USED  STATE            ID\n"
      "q3vX0b-9…  workspace  cron   2 h ago     10 s ago   live             01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42\n"
      "AAAAAAAA…  enrolment         1 h ago     never      expires in 23 h  t2\n"
      "BBBBBBBB…  enrolment  x      2 days ago  never      expired          t3\n"
      "q3vX0b-9…  sender     Ada    2 days ago  never      revoked          t4\n");
}

TEST(TokenRevoke, TakesTheBeginningOfALiveToken) {
  EXPECT_EQ(pick_token(json(kTokens), "q3vX0b-9"), "01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42");
  EXPECT_EQ(pick_token(json(kTokens), "AAAAAAAA…"), "t2");
}

TEST(TokenRevoke, NeverRepeatsTheArgumentBecauseItMayBeASecret) {
  const std::string secret(43, 's');
  const auto refused = failure_of([&] { pick_token(json(kTokens), secret); });
  EXPECT_EQ(refused.exit_code(), kExitFailed);
  EXPECT_THAT(refused.what(), Not(HasSubstr("sss")));
  EXPECT_THAT(refusal([&] { pick_token(json(kTokens), "q3vX"); }), HasSubstr("no live token"));
}

TEST(TokenRevoke, RefusesABeginningThatTwoHave) {
  const auto two =
      json(R"([{"id":"a","prefix":"AAAAAAAA","revoked_at":null},{"id":"b","prefix":"AAAAAAAA","revoked_at":null}])");
  EXPECT_THAT(refusal([&] { pick_token(two, "AAAAAAAA"); }), HasSubstr("several"));
}

TEST(Invite, GivesAnAgentALineAndAPersonALink) {
  EXPECT_THAT(
      format_invite(
          json(
              R"({"kind":"enrolment","token":"t","expires_at":"2026-11-16T12:00:00.000000Z","connect_command":"restante connect --url u --enrol t"})"),
          kNow),
      AllOf(HasSubstr("\n  restante connect --url u --enrol t\n"), HasSubstr("in 24 h")));
  EXPECT_THAT(
      format_invite(json(R"({"kind":"sender","token":"t","expires_at":null,"link":"https://h/#token=t"})"), kNow),
      AllOf(HasSubstr("\n  https://h/#token=t\n"), Not(HasSubstr("expires"))));
}

TEST(Invite, APersonWithoutAWorkspaceIsRefusedBeforeAnyRequest) {
  InviteOptions options;
  options.sender = true;
  EXPECT_EQ(failure_of([&] { invite(options); }).exit_code(), kExitUsage);
}

TEST(Migrations, ShowAppliedWaitingAndForeignOnes) {
  const std::vector<MigrationStatus> all = {{1, "workspaces", kNow - std::chrono::hours(3), true},
                                            {2, "inbox", std::nullopt, true},
                                            {9, "future", kNow, false}};
  EXPECT_EQ(format_migrations(all, kNow, Colours::off),
            "NUMBER  NAME        STATE\n"
            "0001    workspaces  applied 3 h ago\n"
            "0002    inbox       waiting: restante migrate up\n"
            "0009    future      applied by a newer restante\n");
  EXPECT_EQ(migrations_json({all[1]}), R"([{"version":2,"name":"inbox","applied_at":null,"known":true}])");
}

}  // namespace
}  // namespace restante::cli
