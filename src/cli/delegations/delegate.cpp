#include <unistd.h>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/delegations/tasks.h"
#include "cli/remote/wait.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "cli/uploads/send.h"
#include "server/config/values.h"

namespace restante::cli {
namespace {

std::string task_body(const DelegateOptions& options, WorkspaceId to, const std::vector<Json>& files) {
  return json_object([&](JsonWriter& out) {
    out.member("target_id", to.text());
    out.member("task", options.task);
    out.member_if("delegation_id", options.id);
    if (!options.within.empty()) out.member("deadline", deadline_of(options.within));
    out.array("attachments", files, [&](const Json& file) { out.raw(file.dump()); });
  });
}

}  // namespace

std::string deadline_of(const std::string& within) {
  try {
    const auto length = read_duration(BareText{within});
    if (length.count() > 0) return format_time(SystemClock().now() + length);
  } catch (const BadValue&) {
  }
  throw CommandFailed(kExitUsage, "--within takes a time to come, such as 30m, 6h or 3d");
}

Json follow_task(Remote& remote, WorkspaceId viewer, const std::string& id, std::int64_t timeout, bool quiet) {
  const std::string path = "/workspaces/" + viewer.text() + "/delegations/" + percent_encode(id);
  RemoteWait waiting(
      remote, timeout,
      fmt::format("not done within {} s; the task goes on, and restante task show {} shows its state", timeout, id));
  std::string printed;
  while (true) {
    Json task = parse_answer(waiting.get(path));
    if (has_ended(task)) return task;
    const Cell state = describe_task(task);
    const bool change = state.text != printed;
    if (change && !quiet) print(format_facts({{id, state}}, colours()));
    printed = state.text;
    waiting.pause(change ? RemoteWait::Observed::change : RemoteWait::Observed::no_change);
  }
}

std::string format_outcome(const Json& task, const std::vector<ReturnedFile>& files, Reader reader, Colours colours) {
  if (task.text("status") != "completed") {
    return format_facts({{task.text("delegation_id"), describe_task(task)}}, colours);
  }
  std::string text = task.text("result");
  if (reader == Reader::person) text = presentable_lines(text);
  if (!text.empty() && text.back() != '\n') text += '\n';
  const auto hint = fmt::format("restante task show {} --save DIR takes it", task.text("delegation_id"));
  return text + format_returned(files, hint, colours);
}

int delegate(const DelegateOptions& options) {
  if (!options.within.empty()) (void)deadline_of(options.within);  // an error is reported before anything is sent
  if (!options.save.empty() && !options.wait)
    throw CommandFailed(kExitUsage, "--save takes the files of the result: give --wait, too");
  const auto files = describe_files(options.files);
  check_save_folder(options.save);
  Remote remote(options.remote);
  const WorkspaceId from = remote.find_workspace_or_own(options.from, "whose task is it? Give --from WORKSPACE");
  const WorkspaceId to = remote.find_workspace(options.to);
  const auto sent = upload_files(remote, "/workspaces/" + from.text() + "/chat/uploads?direction=out", files);
  const std::string answer =
      remote.post_once("/workspaces/" + from.text() + "/delegate", task_body(options, to, sent), fresh_key());
  const std::string id = parse_answer(answer).text("delegation_id");
  if (!options.wait) {
    if (options.remote.json) return print(answer + '\n');
    return print(
        fmt::format("The task is kept for {} until it asks. Its state: restante task show {}\n", options.to, id));
  }
  Json task = follow_task(remote, from, id, options.timeout, options.remote.json);
  const auto returned = take_files(remote, task.items("result_attachments"), options.save);
  add_saved(task, returned);
  const Reader reader = ::isatty(STDOUT_FILENO) == 1 ? Reader::person : Reader::script;
  print(options.remote.json ? task.dump() + '\n' : format_outcome(task, returned, reader, colours()));
  return task.text("status") == "completed" && all_saved(returned) ? kExitOk : kExitFailed;
}

}  // namespace restante::cli
