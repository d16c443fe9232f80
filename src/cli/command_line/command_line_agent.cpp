#include "cli/command_line/command_line.h"

#include <cstdlib>

#include "cli/command_line/command_parser.h"
#include "cli/command_line/help.h"

namespace restante::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void add_state_flag(CLI::App& app, std::string& to) {
  app.add_option("--state", to, "Where token, cursor and the list of files are kept between runs.")->type_name("DIR");
}

// The flags that connect, doctor and mcp share.
void add_agent_flags(CLI::App& app, AgentOptions& to) {
  app.add_option("--url", to.url, "The server. Remembered after the first time.")->type_name("URL");
  app.add_option("--token-file", to.token_file, "File with the workspace's token.")->type_name("FILE");
  app.add_option("--workspace", to.workspace, "Workspace id; default: the token's own.")->type_name("ID");
  app.add_option("--dir", to.dir,
                 "Where files land, in .molecule/chat-uploads; default: /workspace if writable, else here.")
      ->type_name("DIR");
  add_state_flag(app, to.state);
}

void add_enrol_flag(CLI::App& app, AgentOptions& to) {
  app.add_option("--enrol", to.enrol, "Enrolment token shown with a new workspace; works once.")->type_name("TOKEN");
}

void add_file_wait_flag(CLI::App& app, int& to) {
  app.add_option("--file-wait", to, "How long a message waits for its files. Default: 20.")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 3600));
}

void add_agent_environment(AgentOptions& to) {
  if (to.url.empty()) to.url = variable("RESTANTE_URL");
  if (to.token_file.empty()) to.token = variable("RESTANTE_TOKEN");
}

void add_connect(CLI::App& app, CommandLine& to) {
  auto& connect = add_command(app, "connect");
  connect.callback([&to] {
    to.called = "connect";
    to.run = [](const CommandLine& asked) { return cli::connect(asked.connect); };
    add_agent_environment(to.connect.agent);
  });
  add_enrol_flag(connect, to.connect.agent);
  add_agent_flags(connect, to.connect.agent);
  connect.add_option("--exec", to.connect.exec, "Shell command run once per message.")->type_name("COMMAND");
  connect.add_flag("--json", to.connect.json, "One JSON object a line on stdout for everything that arrives.");
  connect.add_flag("--reply-to-agents", to.connect.reply_to_agents,
                   "Send the output of --exec for other agents' messages back to them; at most 8 times in a row.");
  add_file_wait_flag(connect, to.connect.file_wait);
  connect.add_flag("--install-service", to.connect.install_service,
                   "Write, enable and start a systemd user unit with these flags, and exit.");
}

void add_mcp(CLI::App& app, CommandLine& to) {
  auto& mcp = add_command(app, "mcp");
  mcp.callback([&to] {
    to.called = "mcp";
    to.run = [](const CommandLine& asked) { return cli::mcp(asked.mcp); };
    add_agent_environment(to.mcp.agent);
  });
  add_enrol_flag(mcp, to.mcp.agent);
  add_agent_flags(mcp, to.mcp.agent);
  add_file_wait_flag(mcp, to.mcp.file_wait);
}

void add_status(CLI::App& app, CommandLine& to) {
  auto& status = add_command(app, "status", to, [](const CommandLine& asked) { return cli::status(asked.status); });
  add_state_flag(status, to.status.state);
  status.add_flag("--json", to.status.json, "One JSON object, for scripts.");
}

void add_doctor(CLI::App& app, CommandLine& to) {
  auto& doctor = add_command(app, "doctor");
  doctor.callback([&to] {
    to.called = "doctor";
    to.run = [](const CommandLine& asked) { return cli::doctor(asked.doctor); };
    add_agent_environment(to.doctor.agent);
  });
  add_agent_flags(doctor, to.doctor.agent);
  doctor
      .add_option("--sender-file", to.doctor.sender_file,
                  "File with a person's or the operator's token, to send the test file as they would.")
      ->type_name("FILE");
  doctor.add_flag("--json", to.doctor.json, "One JSON object a line for each step, for scripts.");
}

void add_send(CLI::App& app, CommandLine& to) {
  auto& send =
      add_command(app, "send", to, [](const CommandLine& asked) { return cli::send(asked.send); }, &to.send.remote);
  send.add_option("text", to.send.text, "The text. May be left out when there are files.")->type_name("TEXT");
  send.add_option("--to", to.send.to, "The workspace: id or name. Not needed with a sender's token.")->type_name("ID");
  send.add_option("--file", to.send.files, "A file to send along. May be repeated.")
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  send.add_flag("--wait", to.send.wait,
                "Wait until each file was fetched and acknowledged, or is known to have failed.");
  send.add_option("--timeout", to.send.timeout, "With --wait: give up after so many seconds (exit code 75).")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  add_remote_flags(send, to.send.remote);
}

}  // namespace

void add_remote_flags(CLI::App& app, RemoteOptions& to) {
  app.add_option("--url", to.url, "The server. Default: http://127.0.0.1:8080.")->type_name("URL");
  app.add_option("--token-file", to.token_file, "File with the token to use.")->type_name("FILE");
  app.add_option("--data", to.data,
                 "The server's data directory on this machine: the token is its admin.token. Default: ./data.")
      ->type_name("DIR");
  app.add_flag("--json", to.json, "Print the server's answer as it came, for scripts.");
}

void add_environment(RemoteOptions& to) {
  if (to.url.empty()) to.url = variable("RESTANTE_URL");
  if (to.token_file.empty()) to.token = variable("RESTANTE_TOKEN");
}

void add_agent_commands(CLI::App& app, CommandLine& to) {
  add_connect(app, to);
  add_mcp(app, to);
  add_status(app, to);
  add_doctor(app, to);
  add_send(app, to);
}

CommandLine parse_agent_command_line(int argc, const char* const* argv) {
  CommandLine asked;
  CLI::App app{std::string(summary("agent")), "restante"};
  prepare(app, "agent");
  add_agent_commands(app, asked);
  if (auto text = parse_words(app, argc, argv)) asked.text = std::move(*text);
  return asked;
}

}  // namespace restante::cli
