// Tests status and --install-service without an agent.
#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "base/test_rows.h"
#include "cli/agent/service.h"
#include "cli/remote/test_remote.h"

namespace restante::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

agent::StateView state_view(bool in_use, std::string polled, std::string trouble = "") {
  agent::StateView seen;
  seen.in_use = in_use;
  seen.state.emplace().workspace = "w";
  seen.health = R"({"last_poll_at":")" + polled + R"(","trouble":")" + trouble + "\"}\n";
  return seen;
}

TEST(Status, IsConnectedOnlyWhileTheLastPollIsRecent) {
  EXPECT_EQ(condition_of(state_view(true, "2026-11-15T11:59:50.000000Z"), kNow).code, kExitOk);
  EXPECT_EQ(condition_of(state_view(true, "2026-11-15T11:58:00.000000Z"), kNow).code, kExitUnavailable);
  EXPECT_EQ(condition_of(state_view(true, "2026-11-15T11:59:50.000000Z", "refused"), kNow).code, kExitUnavailable);
  EXPECT_EQ(condition_of(state_view(true, ""), kNow).code, kExitUnavailable);
  EXPECT_EQ(condition_of(state_view(false, "2026-11-15T11:59:50.000000Z"), kNow).code, kExitFailed);
  EXPECT_EQ(condition_of(agent::StateView(), kNow).code, kExitNotPermitted);
}

TEST(Status, TellsRevokedAndRemovedFromStopped) {
  auto ended = state_view(false, "2026-11-15T11:59:50.000000Z");
  EXPECT_EQ(condition_of(ended, kNow).word, "stopped");
  for (const std::string word : {"revoked", "removed"}) {
    ended.health = R"({"ended":")" + word + "\"}\n";
    EXPECT_EQ(condition_of(ended, kNow).word, word);
    EXPECT_EQ(condition_of(ended, kNow).code, kExitNotPermitted);
  }
  ended.in_use = true;
  EXPECT_EQ(condition_of(ended, kNow).word, "unreachable") << "it runs again";
}

TEST(Service, WordsReachTheProgramExactlyAsTheyWereGiven) {
  expect_rows(service_word, {{"plain", "\"plain\""},
                             {"a \"b\" \\c", "\"a \\\"b\\\" \\\\c\""},
                             {"50% of $HOME", "\"50%% of $$HOME\""},
                             {"one\ntwo", "\"one\\ntwo\""}});
}

TEST(Service, AFolderIsWrittenWithoutQuotesOrNotAtAll) {
  EXPECT_EQ(service_path("/my files/50%"), "/my files/50%%");
  for (const char* strange : {"/a\nb", "/a\\", "/a "}) EXPECT_THROW(service_path(strange), CommandFailed);
}

TEST(Service, TheUnitHasTheFlagsAndNoSecret) {
  ConnectOptions options;
  options.agent.url = "https://post.example.org";
  options.agent.enrol = "enrolment-secret";
  options.agent.token = "token-secret";
  options.agent.state = "/var/state";
  options.agent.dir = "/srv/files";
  options.exec = "./answer.sh";
  options.reply_to_agents = true;
  const auto unit = service_unit(options, "/opt/restante", [](const char*) { return std::nullopt; });
  EXPECT_THAT(unit,
              HasSubstr("\nExecStart=\"/opt/restante\" \"connect\" \"--state\" \"/var/state\" \"--dir\" \"/srv/files\" "
                        "\"--url\" \"https://post.example.org\" \"--exec\" \"./answer.sh\" \"--reply-to-agents\"\n"));
  EXPECT_THAT(unit, HasSubstr("\nRestart=always\n"));
  EXPECT_THAT(unit, HasSubstr("\nRestartPreventExitStatus=64 77 78\n"));
  EXPECT_THAT(unit, Not(HasSubstr("secret")));
  EXPECT_THAT(unit, Not(HasSubstr("Environment")));
  EXPECT_THAT(unit, HasSubstr("\nKillMode=process\n")) << "a command outlives its agent";
}

TEST(Service, TheUnitHasTheVariablesItNeeds) {
  const std::map<std::string, std::string> set = {{"https_proxy", "http://me:50%$x\"@proxy:3128"},
                                                  {"NO_PROXY", "a.example, b.example"},
                                                  {"SSL_CERT_FILE", "/my certs/ca.pem"},
                                                  {"SSL_CERT_DIR", ""},
                                                  {"all_proxy", "\xff"},
                                                  {"PATH", "/opt/bin:/usr/bin"},
                                                  {"RESTANTE_TOKEN", "token-secret"}};
  const auto environment = [&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
  ConnectOptions options;
  const auto alone = service_unit(options, "/opt/restante", environment);
  EXPECT_THAT(alone, HasSubstr("\nEnvironment=\"https_proxy=http://me:50%%$x\\\"@proxy:3128\"\n"));
  EXPECT_THAT(alone, HasSubstr("\nEnvironment=\"NO_PROXY=a.example, b.example\"\n"));
  EXPECT_THAT(alone, HasSubstr("\nEnvironment=\"SSL_CERT_FILE=/my certs/ca.pem\"\n"));
  for (const char* left_out : {"SSL_CERT_DIR", "all_proxy", "PATH=", "token-secret"})
    EXPECT_THAT(alone, Not(HasSubstr(left_out)));
  options.exec = "answer";
  EXPECT_THAT(service_unit(options, "/opt/restante", environment),
              HasSubstr("\nEnvironment=\"PATH=/opt/bin:/usr/bin\"\n"));
}

}  // namespace
}  // namespace restante::cli
