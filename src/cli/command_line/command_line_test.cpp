#include "cli/command_line/command_line.h"

#include <gmock/gmock.h>

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

CommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "restante");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

std::string refusal(const std::vector<const char*>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(CommandLine, ServeTurnsItsFlagsIntoSettings) {
  const auto asked = parse({"serve", "--config", "f.toml", "--listen", "127.0.0.1:1", "--listen", "[::1]:2",
                            "--open-registration", "--set", "log.level=warn", "--set", "public_url=https://x?a=b"});
  EXPECT_EQ(asked.called, "serve");
  EXPECT_EQ(asked.serve.file, "f.toml");
  ASSERT_THAT(asked.serve.flags, SizeIs(4));
  EXPECT_EQ(asked.serve.flags[0].key, "listen");
  EXPECT_EQ(asked.serve.flags[0].value, "127.0.0.1:1,[::1]:2");
  EXPECT_EQ(asked.serve.flags[0].spelled, "--listen");
  EXPECT_EQ(asked.serve.flags[1].key, "open_registration");
  EXPECT_EQ(asked.serve.flags[1].value, "true");
  EXPECT_EQ(asked.serve.flags[2].key, "log.level");
  EXPECT_EQ(asked.serve.flags[3].value, "https://x?a=b") << "only the first = separates";
}

TEST(CommandLine, APortIsShortForAnAddressOnLoopback) {
  const auto asked = parse({"serve", "--port", "9000"});
  ASSERT_THAT(asked.serve.flags, SizeIs(1));
  EXPECT_EQ(asked.serve.flags[0].key, "listen");
  EXPECT_EQ(asked.serve.flags[0].value, "127.0.0.1:9000");
  EXPECT_THAT(refusal({"serve", "--port", "70000"}), HasSubstr("--port"));
  EXPECT_THAT(refusal({"serve", "--port", "1", "--listen", "127.0.0.1:2"}), HasSubstr("--listen"));
}

TEST(CommandLine, AnEmptyValueIsAValue) {
  const auto asked = parse({"serve", "--public-url", ""});
  ASSERT_THAT(asked.serve.flags, SizeIs(1));
  EXPECT_EQ(asked.serve.flags[0].value, "");
}

TEST(CommandLine, DevHasItsDefaultsAndFlags) {
  EXPECT_EQ(parse({"dev"}).dev.port, 8080);
  EXPECT_EQ(parse({"dev"}).dev.data, "./data");
  EXPECT_FALSE(parse({"dev"}).dev.no_agent);
  const auto asked = parse({"dev", "--port", "0", "--data=d", "--no-agent"});
  EXPECT_EQ(asked.called, "dev");
  EXPECT_EQ(asked.dev.port, 0);
  EXPECT_EQ(asked.dev.data, "d");
  EXPECT_TRUE(asked.dev.no_agent);
}

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("RESTANTE_URL", "https://environment.example", 1);
    ::setenv("RESTANTE_TOKEN", "secret", 1);
  }
  void TearDown() override {
    ::unsetenv("RESTANTE_URL");
    ::unsetenv("RESTANTE_TOKEN");
  }
};

TEST_F(Environment, ConnectTakesUrlAndTokenFromItUnlessFlagsGiveThem) {
  const auto bare = parse({"connect"}).connect.agent;
  EXPECT_EQ(bare.url, "https://environment.example");
  EXPECT_EQ(bare.token, "secret");
  const auto given = parse({"connect", "--url", "u", "--token-file", "f"}).connect.agent;
  EXPECT_EQ(given.url, "u");
  EXPECT_EQ(given.token_file, "f");
  EXPECT_EQ(given.token, "");
}

TEST(CommandLine, ConnectTakesEveryFlag) {
  const auto asked =
      parse({"connect", "--enrol", "e", "--workspace", "w", "--dir", "d", "--state", "s", "--exec", "a b", "--json"});
  EXPECT_EQ(asked.called, "connect");
  EXPECT_EQ(asked.connect.agent.enrol, "e");
  EXPECT_EQ(asked.connect.agent.workspace, "w");
  EXPECT_EQ(asked.connect.agent.dir, "d");
  EXPECT_EQ(asked.connect.agent.state, "s");
  EXPECT_EQ(asked.connect.exec, "a b");
  EXPECT_TRUE(asked.connect.json);
}

TEST_F(Environment, ManagingCommandsTakeUrlAndTokenFromItUnlessFlagsGiveThem) {
  const auto bare = parse({"workspace", "list"}).workspace.remote;
  EXPECT_EQ(bare.url, "https://environment.example");
  EXPECT_EQ(bare.token, "secret");
  const auto given = parse({"invite", "--url", "u", "--token-file", "f"}).invite.remote;
  EXPECT_EQ(given.url, "u");
  EXPECT_EQ(given.token, "");
}

TEST(CommandLine, WorkspaceCommandsTakeTheirArguments) {
  const auto created =
      parse({"workspace", "create", "My laptop", "--role", "r", "--parent", "p", "--push-url", "u", "--json"});
  EXPECT_EQ(created.called, "workspace create");
  EXPECT_EQ(created.workspace.name, "My laptop");
  EXPECT_EQ(created.workspace.role, "r");
  EXPECT_EQ(created.workspace.parent, "p");
  EXPECT_EQ(created.workspace.push_url, "u");
  EXPECT_TRUE(created.workspace.remote.json);
  const auto set = parse({"workspace", "set", "w", "name=a", "role=", "--data", "d"});
  EXPECT_EQ(set.called, "workspace set");
  EXPECT_EQ(set.workspace.workspace, "w");
  EXPECT_EQ(set.workspace.changes, (std::vector<std::string>{"name=a", "role="}));
  EXPECT_EQ(set.workspace.remote.data, "d");
  EXPECT_EQ(parse({"workspace", "remove", "w"}).called, "workspace remove");
  EXPECT_EQ(parse({"workspace", "show", "w"}).called, "workspace show");
}

TEST(CommandLine, TokenInviteAndMigrateTakeTheirArguments) {
  const auto revoke = parse({"token", "revoke", "--workspace", "w", "abc"});
  EXPECT_EQ(revoke.called, "token revoke");
  EXPECT_EQ(revoke.token.workspace, "w");
  EXPECT_EQ(revoke.token.token_id, "abc");
  EXPECT_EQ(parse({"token", "create", "--workspace", "w", "--label", "l"}).token.label, "l");
  EXPECT_TRUE(parse({"token", "admin", "--rotate"}).token.rotate);
  const auto invited = parse({"invite", "--sender", "--workspace", "w", "--label", "Ada"});
  EXPECT_EQ(invited.called, "invite");
  EXPECT_TRUE(invited.invite.sender);
  EXPECT_EQ(invited.invite.label, "Ada");
  const auto up = parse({"migrate", "up", "--data", "d", "--database", "sqlite://x", "--config", "f"});
  EXPECT_EQ(up.called, "migrate up");
  EXPECT_EQ(up.migrate.sources.file, "f");
  ASSERT_THAT(up.migrate.sources.flags, SizeIs(2));
  EXPECT_EQ(up.migrate.sources.flags[0].key, "data");
  EXPECT_TRUE(parse({"migrate", "status", "--json"}).migrate.json);
  EXPECT_EQ(parse({"restored", "--config", "f"}).restored.sources.file, "f");
}

TEST(CommandLine, AFlagThatMayBeRepeatedTakesOneValueEachTime) {
  const std::vector<std::string> both{"a", "b"};
  for (const auto& words : {std::vector<const char*>{"send", "--file", "a", "hello", "--file", "b"},
                            std::vector<const char*>{"send", "hello", "--file", "a", "--file", "b"},
                            std::vector<const char*>{"send", "--file", "a", "--file", "b", "hello"}}) {
    const auto sent = parse(words).send;
    EXPECT_EQ(sent.text, "hello");
    EXPECT_EQ(sent.files, both);
  }
  const auto given = parse({"delegate", "--to", "b", "--file", "a", "--file", "b", "do it"}).delegate;
  EXPECT_EQ(given.task, "do it");
  EXPECT_EQ(given.files, both);
  const auto again = parse({"task", "retry", "--file", "a", "--file", "b", "x"}).task;
  EXPECT_EQ(again.id, "x");
  EXPECT_EQ(again.files, both);
  EXPECT_EQ(parse({"mcp", "--allow", "a", "--allow", "b"}).mcp.allow, both);
  EXPECT_THAT(refusal({"send", "--file", "a", "hello", "there"}),
              AllOf(HasSubstr("does not take"), HasSubstr("there")));
  EXPECT_THAT(refusal({"blobs", "adopt", "--set", "s3.prefix=post/", "log.level=warn"}),
              AllOf(HasSubstr("does not take"), HasSubstr("log.level")));
}

TEST(CommandLine, DelegateTasksAndTaskTakeTheirArguments) {
  const auto given = parse({"delegate", "do it", "--from", "a", "--to", "b", "--file", "f", "--file", "g", "--within",
                            "3d", "--id", "x", "--wait", "--timeout", "5"});
  EXPECT_EQ(given.called, "delegate");
  EXPECT_EQ(given.delegate.task, "do it");
  EXPECT_EQ(given.delegate.from, "a");
  EXPECT_EQ(given.delegate.to, "b");
  EXPECT_EQ(given.delegate.files, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(given.delegate.within, "3d");
  EXPECT_EQ(given.delegate.id, "x");
  EXPECT_TRUE(given.delegate.wait);
  EXPECT_EQ(given.delegate.timeout, 5);
  EXPECT_THAT(refusal({"delegate", "do it"}), HasSubstr("--to is required"));
  const auto listed = parse({"tasks", "--workspace", "w", "--status", "stuck", "--watch", "--stats"});
  EXPECT_EQ(listed.called, "tasks");
  EXPECT_EQ(listed.tasks.workspace, "w");
  EXPECT_EQ(listed.tasks.status, "stuck");
  EXPECT_TRUE(listed.tasks.watch && listed.tasks.stats);
  EXPECT_EQ(parse({"tasks"}).tasks.status, "in_flight");
  const auto again = parse({"task", "retry", "x", "--workspace", "w", "--json"});
  EXPECT_EQ(again.called, "task retry");
  EXPECT_EQ(again.task.id, "x");
  EXPECT_EQ(again.task.workspace, "w");
  EXPECT_TRUE(again.task.files.empty() && again.task.within.empty() && !again.task.no_files);
  const auto changed = parse({"task", "retry", "x", "--file", "a", "--file", "b", "--within", "3d"});
  EXPECT_EQ(changed.task.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(changed.task.within, "3d");
  EXPECT_TRUE(parse({"task", "retry", "x", "--no-files"}).task.no_files);
  EXPECT_EQ(parse({"task", "cancel", "x"}).called, "task cancel");
  EXPECT_EQ(parse({"task", "show", "x"}).called, "task show");
}

TEST(CommandLine, MoveTakesBothDatabasesAndTheMode) {
  const auto asked = parse({"move", "--from", "sqlite://a", "--to", "postgres://b", "--data", "c", "--data-to", "d",
                            "--dry-run", "--verify", "--json"});
  EXPECT_EQ(asked.called, "move");
  EXPECT_EQ(asked.move.from, "sqlite://a");
  EXPECT_EQ(asked.move.to, "postgres://b");
  EXPECT_EQ(asked.move.data, "c");
  EXPECT_EQ(asked.move.data_to, "d");
  EXPECT_TRUE(asked.move.dry_run && asked.move.verify && asked.move.json);
  EXPECT_THAT(refusal({"move", "--from", "sqlite://a"}), HasSubstr("--to is required"));
}

TEST(CommandLine, AWrongCommandLineIsRefusedWithWhatToWrite) {
  EXPECT_THAT(refusal({}), HasSubstr("serve, dev, connect, mcp, status, doctor, send, chat, workspace, token, invite, "
                                     "uploads, delegate, tasks, task, sweep, clock, blobs, restored, migrate, "
                                     "move, config, "
                                     "completion"));
  EXPECT_THAT(refusal({"sevre"}), HasSubstr("did you mean restante serve?"));
  EXPECT_THAT(refusal({"xyzzy"}), HasSubstr("write one of serve"));
  EXPECT_THAT(refusal({"serve", "--lisen", "x"}), HasSubstr("did you mean --listen?"));
  EXPECT_THAT(refusal({"serve", "stray"}), AllOf(HasSubstr("\"stray\""), HasSubstr("restante serve --help")));
  EXPECT_THAT(refusal({"--verson"}), HasSubstr("did you mean --version?"));
  EXPECT_THAT(refusal({"serve", "--config"}), HasSubstr("--config needs a value"));
  EXPECT_THAT(refusal({"serve", "--data", "a", "--data", "b"}), HasSubstr("--data is given twice"));
  EXPECT_THAT(refusal({"serve", "--set", "log.level"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refusal({"dev", "--port", "65536"}), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(refusal({"dev", "--port", "-1"}), HasSubstr("--port"));
  EXPECT_THAT(refusal({"workspace"}), HasSubstr("create, list, show, remove, set (restante workspace --help"));
  EXPECT_THAT(refusal({"workspace", "crate", "x"}), HasSubstr("did you mean restante workspace create?"));
  EXPECT_THAT(refusal({"workspace", "create"}),
              AllOf(HasSubstr("name is required"), HasSubstr("workspace create --help")));
  EXPECT_THAT(refusal({"workspace", "list", "--jsn"}), HasSubstr("did you mean --json?"));
  EXPECT_THAT(refusal({"blobs", "migrate", "--to", "mars"}),
              AllOf(HasSubstr("--to is dir, inline or s3, not mars"), HasSubstr("restante blobs migrate --help")));
  EXPECT_THAT(refusal({"token", "create"}), HasSubstr("--workspace is required"));
  EXPECT_THAT(refusal({"token", "list", "--workspace"}), HasSubstr("--workspace needs a value"));
  EXPECT_THAT(refusal({"completion"}), HasSubstr("shell is required"));
  EXPECT_THAT(refusal({"completion", "fish"}), HasSubstr("bash or zsh"));
}

TEST(CommandLine, CompletionKnowsEveryFlagThatHelpKnows) {
  const auto bash = parse({"completion", "bash"}).text, zsh = parse({"completion", "zsh"}).text;
  for (const auto* flag : {"--listen", "--public-url", "--no-agent", "--enrol", "--example", "--version",
                           "log.level=", "--push-url", "--rotate", "--sender"}) {
    EXPECT_THAT(bash, HasSubstr(flag));
    EXPECT_THAT(zsh, HasSubstr(flag));
  }
  EXPECT_THAT(bash, Not(HasSubstr("admin_token")));
}

}  // namespace
}  // namespace restante::cli
