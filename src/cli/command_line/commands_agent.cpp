#include "cli/command_line/command.h"

namespace restante::cli {
namespace {

Flag state_flag(std::string& to) {
  return {"--state", "DIR", "Where token, cursor and the list of files are kept between runs.", &to};
}

Flag file_wait_flag(int& to) {
  return {"--file-wait", "SECONDS", "How long a message waits for its files. Default: 20.", &to, Flag::up_to_an_hour};
}

// The flags that connect, doctor and mcp share, before their own.
Flags agent_flags(AgentOptions& to, const Flags& own) {
  return join(
      {{"--url", "URL", "The server. Remembered after the first time.", &to.url},
       {"--token-file", "FILE", "File with the workspace's token.", &to.token_file},
       {"--workspace", "ID",
        "Which agent of this machine: its workspace's id. Default: the token's own, or the only one.", &to.workspace},
       {"--dir", "DIR", "Where files land, in .molecule/chat-uploads; default: /workspace if writable, else here.",
        &to.dir},
       state_flag(to.state)},
      own);
}

Flags enrolling_flags(AgentOptions& to, const Flags& own) {
  return join({{"--enrol", "TOKEN", "Enrolment token shown with a new workspace; works once.", &to.enrol}},
              agent_flags(to, own));
}

}  // namespace

Commands agent_commands(CommandLine& to) {
  return {
      {"connect", "Connect an agent on this machine to its workspace.",
       R"(Needs no open port: it asks the server and waits. Files land below --dir, are checked and acknowledged; messages are
handed over, with file addresses rewritten to local paths: as lines to read, with --json as JSON lines, or to the command
of --exec, which gets the JSON on its stdin; its exit code 0 means handled, its stdout is the answer, and the files it
leaves in the folder $RESTANTE_RESULT_DIR are sent with it. With --json, lines {"reply_to":ID,"text":…,"files":[PATH,…]}
on stdin are answers. The first time takes --url and --enrol, both shown with a new
workspace; the token it gets is kept in a state directory for this workspace, so that afterwards "restante connect" is
enough, or "restante connect --workspace ID" when several agents were connected on this machine.

Examples:
  restante connect --url https://post.example.org --enrol TOKEN
  restante connect --exec './answer.sh'
  restante connect --json | jq .
  restante connect --exec './answer.sh' --install-service       from now on and after every boot

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps
)",
       &to.connect.agent, [](const CommandLine& asked) { return connect(asked.connect); },
       enrolling_flags(
           to.connect.agent,
           {{"--exec", "COMMAND", "Shell command run once per message.", &to.connect.exec},
            {"--exec-timeout", "SECONDS", "End a command that takes longer; it has failed then. Default: no limit.",
             &to.connect.exec_timeout, Flag::positive},
            {"--attempts", "COUNT",
             "How often a command that fails is run for one message; then its sender is notified. Default: 5.",
             &to.connect.attempts, Flag::positive},
            {"--json", "", "One JSON object a line on stdout for everything that arrives.", &to.connect.json},
            {"--reply-to-agents", "",
             "Send the output of --exec for other agents' messages back to them; at most 8 times in a row.",
             &to.connect.reply_to_agents},
            file_wait_flag(to.connect.file_wait),
            {"--install-service", "", "Write, enable and start a systemd user unit with these flags, and exit.",
             &to.connect.install_service},
            {"--uninstall-service", "", "Undo --install-service: stop, disable and delete the unit, and exit.",
             &to.connect.uninstall_service}})},
      {"mcp", "Give an AI model its inbox: an MCP server on stdin and stdout.",
       R"(A "restante connect" for clients of the Model Context Protocol, such as Claude Code or Cursor, which start it
themselves. The model gets tools to wait for messages, look into the inbox, answer the person with files, and give tasks
to other agents. Files land below --dir as with connect; the model gets name, size, sha256 and path, never the content.
It can send files from --dir and the folders of --allow, and from nowhere else: a message may try to talk it into more.
A message counts as handed over when the answer that contains it was written: a kill loses none. Logs go to stderr.
The first time takes --url and --enrol, or run "restante connect" once before; it uses the same state directory, so only
one of the two runs at a time for it.

Examples:
  claude mcp add restante -- restante mcp --dir /path/to/project
  claude mcp add restante -- restante mcp --dir /path/to/project --allow /path/to/reports
  claude mcp add restante -- restante mcp --url https://post.example.org --enrol TOKEN
  restante mcp --state ~/.local/state/restante/reviewer --token-file reviewer.token

In the settings of most clients:
  {"mcpServers":{"restante":{"command":"restante","args":["mcp","--dir","/path/to/project"]}}}

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps
)",
       &to.mcp.agent, [](const CommandLine& asked) { return mcp(asked.mcp); },
       enrolling_flags(to.mcp.agent, {{"--allow", "DIR",
                                       "A folder, beside --dir, from which the model may send files. May be repeated.",
                                       &to.mcp.allow},
                                      file_wait_flag(to.mcp.file_wait)})},
      {"status",
       "Show how the agent on this machine is doing.",
       R"(Reads what the agent wrote to its state directory and asks no server. Exit code 0 means that it runs and its last poll
was answered; 69 that it runs and does not reach the server; 1 that it does not run; 77 that it was never connected, or
that its token was revoked. Several agents are shown one after the other, with the largest exit code.

Examples:
  restante status
  restante status --json | jq -r .status
)",
       {},
       [](const CommandLine& asked) { return status(asked.status); },
       {{"--workspace", "ID", "Only the agent of this workspace. Default: all on this machine.", &to.status.workspace},
        state_flag(to.status.state),
        {"--json", "", "One JSON object, for scripts.", &to.status.json}}},
      {"doctor", "Test every step from this machine to a delivered file.",
       R"(Name, connection, TLS, server, token, disk, then a small file all the way: uploaded, polled, fetched, acknowledged. Shows
which step fails and how to fix it. Works beside a running agent, and against any server, with the token of a workspace.
The agent sends the file to itself, unless --sender-file names the token of a person: then it is sent as that person.
An agent that runs meanwhile is not disturbed.

Examples:
  restante doctor
  restante doctor --url https://staging.example.org --token-file agent.token --sender-file person.token
  restante doctor --json | jq -r 'select(.passed == false) | .step'
)",
       &to.doctor.agent, [](const CommandLine& asked) { return doctor(asked.doctor); },
       agent_flags(to.doctor.agent,
                   {{"--sender-file", "FILE",
                     "File with a person's or the operator's token, to send the test file as they would.",
                     &to.doctor.sender_file},
                    {"--json", "", "One JSON object a line for each step, for scripts.", &to.doctor.json}})},
      {"send",
       "Send a message and files to an agent, wherever it is.",
       R"(The server keeps both until the agent fetches them. Files are sent with a progress bar, and again from the start if the
connection breaks, without being kept twice. With --wait you see each file being fetched and then acknowledged: only then
it is called delivered, and only then the exit code is 0; a server that does not answer meanwhile is asked until it does.
A message without files counts as delivered when the agent has taken it. With --reply the agent's answer is printed, and
nothing else; --save takes the files that come with it.
A person's token (restante invite --sender) needs no --to. With --json what was sent is printed also when the rest fails.

Examples:
  restante send --to 'Research laptop' 'Please summarise these.' --file a.pdf --file b.png
  restante send --to 'Research laptop' 'How many words has a.pdf?' --file a.pdf --reply
  restante send --to 'Research laptop' 'Draw it as a chart.' --file a.csv --reply --save charts --timeout 600
  restante send --to 'Research laptop' --file build.log --wait --timeout 600
  restante send --to 'Research laptop' --file a.pdf --wait --json | jq -r '.files[] | .name + " " + .state'
)",
       &to.send.remote,
       [](const CommandLine& asked) { return send(asked.send); },
       {{"text", "TEXT", "The text. May be left out when there are files.", &to.send.text},
        {"--to", "ID", "The workspace: id or name. Not needed with a sender's token.", &to.send.to},
        {"--file", "FILE", "A file to send along. May be repeated.", &to.send.files},
        {"--wait", "",
         "Wait until each file was fetched and acknowledged, or is known to have failed; without files, until the "
         "agent "
         "has taken the message.",
         &to.send.wait},
        {"--reply", "", "Wait for the agent's answer and print it.", &to.send.reply},
        {"--save", "DIR", "With --reply: put the files of the answer there. No file is replaced.", &to.send.save},
        {"--timeout", "SECONDS", "With --wait or --reply: give up after so many seconds (exit code 75).",
         &to.send.timeout, Flag::positive}}},
      {"chat",
       "Talk with an agent at the terminal.",
       R"(Shows the last messages, then every line you type is a message, and the agent's answers appear as they come, also those
to other people. /file PATH sends a file, /save takes the files of an answer, /help lists the commands, Ctrl-D ends. With
--save the files of every answer are taken at once. A person's token (restante invite --sender) needs no workspace.
Without a terminal the lines of stdin are sent and the answers are printed until stdin ends; with --json every new row of
the inbox is printed as one JSON object.

Examples:
  restante chat 'Research laptop'
  restante chat 'Research laptop' --save from-laptop
)",
       &to.chat.remote,
       [](const CommandLine& asked) { return chat(asked.chat); },
       {{"workspace", "ID", "The agent's workspace: id or name. Not needed with a sender's token.", &to.chat.with},
        {"--save", "DIR", "Put the files of the answers there. No file is replaced.", &to.chat.save},
        {"--history", "COUNT", "How many messages to show first. Default: 20.", &to.chat.history, Flag::positive}}}};
}

CommandLine parse_agent_command_line(int argc, const char* const* argv) {
  CommandLine asked;
  const Command program = {"",
                           "Restante, the agent: messages and files for AI agents that accept no incoming connections.",
                           R"(Start here:
  restante connect --url … --enrol …  the line that a new workspace shows
  restante connect                    from then on
  restante mcp                        the same for an MCP client, such as Claude Code
  restante status                     the agent's state
  restante doctor                     what is wrong, when something is
  restante COMMAND --help             more about one of them
)"};
  parse_words(make_table(program, {agent_commands(asked)}), argc, argv, asked);
  return asked;
}

}  // namespace restante::cli
