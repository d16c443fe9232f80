#include "cli/delegations/tasks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/remote/wait.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "cli/uploads/send.h"

namespace restante::cli {
namespace {

constexpr std::array<std::string_view, 6> kAllStatuses = {"queued",    "dispatched", "in_progress",
                                                          "completed", "failed",     "stuck"};
constexpr std::size_t kTaskColumn = 48;
constexpr std::size_t kMostRows = 500;  // the most that one answer about a workspace contains
constexpr auto kWatchEvery = std::chrono::seconds(2);
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J\x1b[3J";

// Only the operator may list workspaces; others see ids.
WorkspaceNames names_for(Remote& remote, bool operator_asks) {
  WorkspaceNames names;
  if (!operator_asks) return names;
  std::map<std::string, int> living;
  const auto all = parse_list(remote.get("/workspaces"));
  for (const Json& one : all) ++living[one.text("name")];
  for (const Json& one : all) {
    const std::string id = one.text("id"), name = one.text("name");
    names[id] = living[name] > 1 ? fmt::format("{} ({})", name, short_id(id)) : name;
  }
  return names;
}

std::string name_in(const WorkspaceNames& names, const std::string& id) {
  const auto found = names.find(id);
  return found == names.end() ? id : found->second;
}

std::string first_line(const std::string& text) {
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const std::string_view cut = cut_utf8(line, kTaskColumn);
  return std::string(cut) + (cut.size() < text.size() ? "…" : "");
}

const Json::Array& rows_of(const Json& answer) {
  return answer.if_array() ? *answer.if_array() : answer.items("delegations");
}

// The workspace as which the task is read; no value: as the operator.
std::optional<WorkspaceId> find_task_viewer(Remote& remote, const TaskOptions& options) {
  if (!options.workspace.empty()) return remote.find_workspace(options.workspace);
  const std::string own = remote.own_workspace();
  if (own.empty()) return std::nullopt;
  if (const auto id = WorkspaceId::parse(own)) return id;
  throw CommandFailed(kExitFailed, "the server's answer names no workspace");
}

std::string path_of(const std::optional<WorkspaceId>& viewer, const std::string& id) {
  return (viewer ? "/workspaces/" + viewer->text() : "/admin") + "/delegations/" + percent_encode(id);
}

// A task is changed in the name of its caller.
std::string caller_path(Remote& remote, const TaskOptions& options) {
  const auto viewer = find_task_viewer(remote, options);
  if (viewer) return "/workspaces/" + viewer->text();
  return "/workspaces/" + parse_answer(remote.get(path_of(viewer, options.id))).text("source_id");
}

std::string retry_body(const TaskOptions& options, const std::vector<Json>& files) {
  return json_object([&](JsonWriter& out) {
    out.member("retry_of", options.id);
    if (!options.within.empty()) out.member("deadline", deadline_of(options.within));
    if (options.no_files || !files.empty())
      out.array("attachments", files, [&](const Json& file) { out.raw(file.dump()); });
  });
}

std::string retry(Remote& remote, const TaskOptions& options, const std::string& base) {
  if (!options.within.empty()) (void)deadline_of(options.within);  // an error is reported before anything is sent
  const auto sent = upload_files(remote, base + "/chat/uploads?direction=out", describe_files(options.files));
  try {
    return remote.post_once(base + "/delegate", retry_body(options, sent), fresh_key());
  } catch (const CommandFailed& failed) {
    if (failed.reason() != "attachment_gone") throw;
    throw CommandFailed(failed.exit_code(),
                        fmt::format("{} (--file FILE sends it again, --no-files leaves it out)", failed.what()));
  }
}

std::string when(const Json& task, std::string_view key, Time now) { return format_ago(task.text(key), now); }

std::string format_history(const Json& task, Time now, Colours colours) {
  std::vector<TableRow> rows;
  for (const Json& step : task.items("history")) {
    rows.push_back({{when(step, "at", now)},
                    {step.text("status") + (step.flag("late") ? " (late)" : "")},
                    {step.text("by")},
                    {first_line(step.text("note"))}});
  }
  return rows.empty() ? std::string() : format_table({"WHEN", "STATUS", "BY", "NOTE"}, rows, colours);
}

std::string block(std::string_view heading, std::string text) {
  if (text.empty()) return {};
  if (text.back() != '\n') text += '\n';
  return fmt::format("\n{}:\n{}", heading, text);
}

std::string text_block(std::string_view heading, const Json& task, std::string_view key) {
  return block(heading, presentable_lines(task.text(key)));
}

std::string files(std::string_view heading, const Json& task, std::string_view key, Colours colours) {
  std::vector<TableRow> rows;
  for (const Json& file : task.items(key)) {
    const auto size = file.whole("size");
    rows.push_back({{file.text("name")}, {size == 0 ? "" : format_bytes(size)}, {file.text("uri")}});
  }
  return rows.empty() ? std::string() : block(heading, format_table({"NAME", "SIZE", "URI"}, rows, colours));
}

int watch(const TasksOptions& options, const std::function<std::string()>& draw) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  std::string shown;
  for (;;) {
    const std::string now = draw();
    if (terminal || now != shown) {
      const int code = print(terminal ? std::string(kClearScreen) + now : now);
      if (code != kExitOk) return code;
    }
    shown = now;
    if (!options.watch) return kExitOk;
    std::this_thread::sleep_for(kWatchEvery);
  }
}

}  // namespace

bool has_ended(const Json& task) {
  const std::string status = task.text("status");
  return status == "completed" || status == "failed" || status == "stuck";
}

Cell describe_task(const Json& task) {
  const std::string status = task.text("status");
  const std::string error = task.text("error_detail");
  if (status == "completed") return {"completed", Paint::good};
  if (has_ended(task)) {
    const bool has_status = error.starts_with(status + ":");
    return {error.empty() ? status : has_status ? error : status + ": " + error, Paint::bad};
  }
  const std::string why = task.text("why");
  return {why.empty() ? status : status + ": " + why, status == "in_progress" ? Paint::plain : Paint::warn};
}

std::string format_tasks(const Json::Array& tasks, const WorkspaceNames& names, Time now, Colours colours) {
  if (tasks.empty()) return "No task is in this state.\n";
  std::vector<TableRow> rows;
  for (const Json& one : tasks) {
    rows.push_back({{name_in(names, one.text("source_id"))},
                    {name_in(names, one.text("target_id"))},
                    {first_line(one.text("summary"))},
                    {when(one, "created_at", now)},
                    {has_ended(one) ? "-" : when(one, "deadline", now)},
                    {one.text("delegation_id")},
                    describe_task(one)});
  }
  std::string text = format_table({"FROM", "FOR", "TASK", "GIVEN", "DUE", "ID", "STATE"}, rows, colours);
  if (rows.size() < kMostRows) return text;
  return text + fmt::format("\nThese are {} tasks; there may be more. --workspace and --status narrow it down.\n",
                            rows.size());
}

std::string format_task(const Json& task, const WorkspaceNames& names, Time now, Colours colours) {
  std::string text = format_facts({{"Task", {task.text("delegation_id")}},
                                   {"State", describe_task(task)},
                                   {"From", {name_in(names, task.text("source_id"))}},
                                   {"For", {name_in(names, task.text("target_id"))}},
                                   {"Given", {when(task, "created_at", now)}},
                                   {"Due", {has_ended(task) ? "" : when(task, "deadline", now)}},
                                   {"Ended", {when(task, "finished_at", now)}},
                                   {"Agent last seen", {when(task, "agent_seen_at", now)}},
                                   {"Last heartbeat", {when(task, "last_heartbeat", now)}},
                                   {"Last progress", {when(task, "progress_at", now)}},
                                   {"Progress", {task.text("progress")}},
                                   {"Retry of", {task.text("retry_of")}},
                                   {"Part of", {task.text("parent_delegation_id")}}},
                                  colours);
  text += text_block("Task", task, "task");
  text += files("Files of the task", task, "attachments", colours);
  if (task.text("status") == "completed") text += text_block("Result", task, "result");
  text += files("Files of the result", task, "result_attachments", colours);
  text += text_block("Late answer", task, "late_answer");
  text += files("Files of the late answer", task, "late_attachments", colours);
  text += block("History", format_history(task, now, colours));
  return text;
}

std::string format_task_stats(const Json& answer, Colours colours) {
  std::vector<std::pair<std::string, Cell>> facts;
  for (const std::string_view status : kAllStatuses) {
    facts.push_back({std::string(status), {std::to_string(answer.whole(status))}});
  }
  return format_facts(facts, colours);
}

int tasks(const TasksOptions& options) {
  check_choice("status", options.status, {"in_flight", "stuck", "failed", "completed"});
  Remote remote(options.remote);
  const std::string own =
      options.workspace.empty() ? remote.own_workspace() : remote.find_workspace(options.workspace).text();
  if (options.stats && !own.empty())
    throw CommandFailed(kExitUsage,
                        "--stats counts all tasks of the server: it takes the operator's token and no --workspace");
  const std::string target =
      options.stats ? "/admin/delegations/stats"
                    : fmt::format("{}/delegations?limit={}&status={}", own.empty() ? "/admin" : "/workspaces/" + own,
                                  kMostRows, options.status);
  const WorkspaceNames names = names_for(remote, own.empty() && !options.remote.json);
  RemoteWait waiting(remote, 0, {});
  bool answered = false;
  return watch(options, [&] {
    const std::string answer = answered ? waiting.get(target) : remote.get(target);
    answered = true;
    if (options.remote.json) return answer + '\n';
    const Json parsed = parse_answer(answer);
    return options.stats ? format_task_stats(parsed, colours())
                         : format_tasks(rows_of(parsed), names, SystemClock().now(), colours());
  });
}

int show_task(const TaskOptions& options) {
  check_save_folder(options.save);
  Remote remote(options.remote);
  const auto viewer = find_task_viewer(remote, options);
  const std::string answer = remote.get(path_of(viewer, options.id));
  if (options.save.empty()) {
    return print_answer(options.remote, answer, [&](const Json& task) {
      const bool operator_asks = !viewer || remote.own_workspace().empty();
      return format_task(task, names_for(remote, operator_asks), SystemClock().now(), colours());
    });
  }
  Json task = parse_answer(answer);
  Json::Array files = task.items("result_attachments");
  std::ranges::copy(task.items("late_attachments"), std::back_inserter(files));
  const auto saved = take_files(remote, files, options.save);
  add_saved(task, saved);
  const std::string none = has_ended(task) ? "The task came back without files.\n" : "The task has not ended yet.\n";
  const int printed = print(options.remote.json ? task.dump() + '\n'
                            : saved.empty()     ? none
                                                : format_returned(saved, {}, colours()));
  return std::max(printed, all_saved(saved) ? kExitOk : kExitFailed);
}

int cancel_task(const TaskOptions& options) {
  Remote remote(options.remote);
  const std::string path = caller_path(remote, options) + "/delegations/" + percent_encode(options.id) + "/cancel";
  const std::string answer = remote.post(path, {});
  return print(options.remote.json ? answer + '\n' : "Cancelled. The agent learns of it with its next heartbeat.\n");
}

int retry_task(const TaskOptions& options) {
  Remote remote(options.remote);
  return print_answer(options.remote, retry(remote, options, caller_path(remote, options)),
                      [](const Json& task) { return fmt::format("Retried as {}.\n", task.text("delegation_id")); });
}

}  // namespace restante::cli
