#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/values.h"

namespace restante::cli {
namespace {

std::string path_of(WorkspaceId id) { return "/workspaces/" + id.text(); }

Cell status_cell(const Json& workspace) {
  const std::string status = workspace.text("status");
  if (status == "online") return {status, Paint::good};
  if (status == "degraded") return {status, Paint::warn};
  if (status == "offline") return {status, Paint::bad};
  return {status == "awaiting_agent" ? "awaiting agent" : status, Paint::faint};
}

// The later of heartbeat and poll. Times of the server sort as text.
std::string last_seen(const Json& workspace) {
  return std::max(workspace.text("last_heartbeat_at"), workspace.text("last_poll_at"));
}

std::string number_text(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value && value->if_number() && value->if_number()->text != "0" ? value->if_number()->text : std::string();
}

// How an agent in poll mode listens, so that a person sees whether it would receive a message.
Cell listening_cell(const Json& workspace) {
  if (workspace.text("delivery_mode") != "poll") return {};
  const std::string silence = workspace.text("silence");
  if (!silence.empty()) return {silence, silence == "never polled" ? Paint::faint : Paint::warn};
  const Json* gap = workspace.find("usual_poll_gap_seconds");
  const auto seconds = gap ? gap->real() : std::nullopt;
  // An agent that holds one long poll after the other has only a moment between two of them.
  if (workspace.flag("listening") || (seconds && *seconds < 1)) return {"now", Paint::good};
  if (!seconds) return {};
  return {*seconds < 120 ? fmt::format("every {:.0f} s", *seconds) : fmt::format("every {:.0f} min", *seconds / 60)};
}

std::string format_now(const Json& workspace) { return format_workspace(workspace, SystemClock().now(), colours()); }

void write_change(JsonWriter& out, const std::string& key, const std::string& value) {
  if (key == "agent_card") {
    const auto card = parse_json(value.empty() ? "{}" : value);
    if (card.has_error() || !card->if_object())
      throw CommandFailed(kExitUsage, "agent_card must be a JSON object, for example agent_card='{\"name\":\"x\"}'");
    out.raw_member(key, card->dump());
  } else {
    out.member(key, value);
  }
}

// Agents may share a name, but a person who types one twice has probably forgotten the first.
bool wants_another(Remote& remote, const std::string& name) {
  std::string same;
  for (const Json& one : parse_list(remote.get("/workspaces"))) {
    if (one.text("name") == name) same += (same.empty() ? "" : "; ") + describe_candidate(one, SystemClock().now());
  }
  return same.empty() ||
         confirmed(fmt::format("There is already a workspace called {}: {}. Make another one?", in_quotes(name), same));
}

}  // namespace

int create_workspace(const WorkspaceOptions& options) {
  Remote remote(options.remote);
  if (::isatty(STDIN_FILENO) == 1 && !wants_another(remote, options.name)) return print("Nothing was made.\n");
  const std::string body = json_object([&](JsonWriter& out) {
    out.member("name", options.name);
    out.member_if("role", options.role);
    if (!options.parent.empty()) out.member("parent_id", remote.find_workspace(options.parent).text());
    out.member_if("url", options.push_url);
  });
  return print_answer(options.remote, remote.post("/workspaces", body),
                      [](const Json& created) { return format_created(created, SystemClock().now()); });
}

int list_workspaces(const WorkspaceOptions& options) {
  return print_answer(options.remote, Remote(options.remote).get("/workspaces"),
                      [](const Json& list) { return format_workspaces(list, SystemClock().now(), colours()); });
}

int show_workspace(const WorkspaceOptions& options) {
  Remote remote(options.remote);
  return print_answer(options.remote, remote.get(path_of(remote.find_workspace(options.workspace))), format_now);
}

int remove_workspace(const WorkspaceOptions& options) {
  Remote remote(options.remote);
  const std::string path = path_of(remote.find_workspace(options.workspace));
  const std::string name = in_quotes(parse_answer(remote.get(path)).text("name"));
  if (!confirmed(fmt::format("Remove {} and revoke all its tokens? Messages and files stay until their time.", name)))
    return print("Nothing was removed.\n");
  const std::string answer = remote.remove(path);
  return print(options.remote.json ? answer + '\n' : fmt::format("Removed {}; its tokens are revoked.\n", name));
}

int set_workspace(const WorkspaceOptions& options) {
  std::string body = patch_body(options.changes);
  Remote remote(options.remote);
  const std::string path = path_of(remote.find_workspace(options.workspace));
  const std::string answer = remote.patch(path, std::move(body));
  return print(options.remote.json ? answer + '\n' : format_now(parse_answer(remote.get(path))));
}

std::string format_workspaces(const Json& list, Time now, Colours colours) {
  const auto* all = list.if_array();
  if (!all || all->empty()) return "There is no workspace yet: restante workspace create NAME makes one.\n";
  std::vector<TableRow> rows;
  for (const Json& one : *all) {
    const std::string seen = last_seen(one);
    rows.push_back({{one.text("name")},
                    status_cell(one),
                    {one.text("delivery_mode")},
                    {seen.empty() ? "never" : format_ago(seen, now), seen.empty() ? Paint::faint : Paint::plain},
                    listening_cell(one),
                    {one.text("id")}});
  }
  return format_table({"NAME", "STATUS", "MODE", "LAST SEEN", "LISTENS", "ID"}, rows, colours);
}

std::string format_workspace(const Json& one, Time now, Colours colours) {
  const auto ago = [&](std::string_view key) { return Cell{format_ago(one.text(key), now)}; };
  const Json* card = one.find("agent_card");
  return format_facts({{"Name", {one.text("name")}},
                       {"Id", {one.text("id")}},
                       {"Status", status_cell(one)},
                       {"Role", {one.text("role")}},
                       {"Parent", {one.text("parent_id")}},
                       {"Mode", {one.text("delivery_mode")}},
                       {"Url", {one.text("url")}},
                       {"Last heartbeat", ago("last_heartbeat_at")},
                       {"Last poll", ago("last_poll_at")},
                       {"Listens", listening_cell(one)},
                       {"Task", {one.text("current_task")}},
                       {"Active tasks", {number_text(one, "active_tasks")}},
                       {"Error rate", {number_text(one, "last_error_rate")}},
                       {"Agent card", {card && card->if_object() ? card->dump() : std::string()}},
                       {"Created", ago("created_at")}},
                      colours);
}

std::string format_created(const Json& created, Time now) {
  const Json* connection = created.find("connection");
  const Json line = connection ? *connection : Json();
  return fmt::format(
      "Created {}: {}\n\n"
      "Paste this on the agent's machine; it works once and expires {}:\n\n"
      "{}",
      in_quotes(created.text("name")), created.text("id"), format_ago(line.text("expires_at"), now),
      lines_to_paste(line.text("connect_command"), line.text("install_command")));
}

std::string patch_body(const std::vector<std::string>& changes) {
  const std::vector<std::string> known = {"name", "role", "parent_id", "delivery_mode", "url", "agent_card"};
  JsonWriter out;
  std::vector<std::string> seen;
  out.begin_object();
  for (const std::string& change : changes) {
    const auto equals = change.find('=');
    const std::string key = change.substr(0, equals);
    if (std::ranges::find(known, key) == known.end()) {
      const auto meant = nearest(key, known);
      throw CommandFailed(kExitUsage, fmt::format("a workspace has no {}: {}", in_quotes(key),
                                                  meant.empty() ? fmt::format("write one of {}", fmt::join(known, ", "))
                                                                : fmt::format("did you mean {}?", meant)));
    }
    if (equals == std::string::npos)
      throw CommandFailed(kExitUsage,
                          fmt::format("{} has no value: write {}=VALUE, or {}= to clear it", key, key, key));
    if (std::ranges::find(seen, key) != seen.end()) throw CommandFailed(kExitUsage, key + " is given twice");
    seen.push_back(key);
    write_change(out, key, change.substr(equals + 1));
  }
  out.end_object();
  return out.take();
}

}  // namespace restante::cli
