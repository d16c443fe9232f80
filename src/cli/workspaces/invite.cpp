#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {

int invite(const InviteOptions& options) {
  if (options.sender && options.workspace.empty())
    throw CommandFailed(kExitUsage, "invite --sender needs --workspace: whose chat shall the person see?");
  Remote remote(options.remote);
  const std::string body = json_object([&](JsonWriter& out) {
    out.member("kind", options.sender ? "sender" : "enrolment");
    if (!options.workspace.empty()) out.member("workspace_id", remote.find_workspace(options.workspace).text());
    out.member_if("label", options.label);
  });
  return print_answer(options.remote, remote.post("/admin/invites", body),
                      [](const Json& made) { return format_invite(made, SystemClock().now()); });
}

std::string format_invite(const Json& invite, Time now) {
  const std::string expires = invite.text("expires_at");
  if (invite.text("kind") == "sender") {
    const std::string link = invite.text("link");
    return fmt::format("Send this {} to the person; every person who has it can write to the workspace{}:\n\n  {}\n",
                       link.empty() ? "token" : "link",
                       expires.empty() ? "" : ", until it expires " + format_ago(expires, now),
                       link.empty() ? invite.text("token") : link);
  }
  const std::string line = invite.text("connect_command");
  return fmt::format("Paste this on the agent's machine; it {}works once{}:\n\n{}",
                     invite.text("workspace_id").empty() ? "makes a new workspace, " : "",
                     expires.empty() ? "" : " and expires " + format_ago(expires, now),
                     lines_to_paste(line.empty() ? "restante connect --enrol " + invite.text("token") : line,
                                    invite.text("install_command")));
}

std::string lines_to_paste(const std::string& connect, const std::string& install) {
  if (install.empty()) return fmt::format("  {}\n", connect);
  return fmt::format("  {}\n\nOr, where restante is installed already:\n\n  {}\n", install, connect);
}

}  // namespace restante::cli
