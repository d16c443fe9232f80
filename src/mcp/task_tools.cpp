#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "mcp/render.h"
#include "mcp/tools.h"
#include "model/ids.h"

namespace restante::mcp {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kWaitSlice{1};
// How often the server is asked, in case the result does not arrive through the inbox.
constexpr std::chrono::seconds kAskEvery{2};

bool is_final(const std::string& status) { return status == "completed" || status == "failed" || status == "stuck"; }

struct Given {
  std::string id, target;
  std::vector<Json> files;
};

client::Outcome<Given> give(ToolContext& context, agent::ApiClient& api, Call& call, const Arguments& arguments,
                            std::string id) {
  const auto target = find_peer(api, arguments.text("target"));
  if (target.has_error()) return target.error();
  auto files = send_files(context, api, call, arguments.paths("attachments"));
  if (files.has_error()) return files.error();
  agent::NewTask task;
  task.id = std::move(id);
  task.target = *target;
  task.text = arguments.text("task");
  task.files = *files;
  const auto given = api.delegate(task);
  if (given.has_error()) return given.error();
  return Given{task.id, task.target, std::move(*files)};
}

// The state of a task, for the tools that show one.
struct TaskView {
  std::string id, target, status, result{}, error{};
  std::string why{};  // why the task has this status
  std::vector<agent::DeliveredFile> files{};
};

ToolResult answer_with(const TaskView& task, std::string text) {
  ToolResult answer;
  answer.text = std::move(text);
  if (!task.result.empty()) answer.text += "\n" + task.result;
  if (!task.error.empty()) answer.text += "\n" + task.error;
  for (const auto& file : task.files) answer.text += "\n" + describe(file);
  answer.structured = json_object([&](JsonWriter& out) {
    out.member("delegation_id", task.id);
    out.member("status", task.status);
    out.member_if("target_id", task.target);
    out.member_if("result", task.result);
    out.member_if("error", task.error);
    write_files(out, task.files);
  });
  return answer;
}

TaskView view_of(const Json& json, const std::vector<agent::FileRecord>& known) {
  TaskView task{json.text("delegation_id"), json.text("target_id"), json.text("status")};
  for (const Json& file : json.items("result_attachments")) task.files.push_back(file_of(file, known));
  task.why = json.text("why");
  task.result = json.text("result");
  if (task.result.empty()) task.result = json.text("response_preview");
  task.error = json.text("error_detail");
  if (task.error.empty()) task.error = json.text("error");
  return task;
}

TaskView view_of(const agent::Delivery& delivery, const Given& given) {
  const bool failed = delivery.status == "error";
  TaskView task{given.id, given.target, failed ? "failed" : "completed"};
  (failed ? task.error : task.result) = delivery.text;
  task.files = delivery.files;
  return task;
}

std::string heading(const TaskView& task) {
  if (task.status == "completed") return fmt::format("Task {} is done:", task.id);
  if (task.status == "failed") return fmt::format("Task {} failed:", task.id);
  if (task.status == "stuck") return fmt::format("Task {} is stuck: the other agent is silent.", task.id);
  return fmt::format("Task {} is {}{}.", task.id, task.status, task.why.empty() ? "" : ": " + task.why);
}

// While this object lives, wait_for_message does not get the task's result.
class ExpectedResult {
 public:
  ExpectedResult(agent::DeliveryLoop& results, std::string id) : results_(results), id_(std::move(id)) {
    results_.expect_result(id_);
  }
  ~ExpectedResult() { results_.stop_expecting(id_); }
  ExpectedResult(const ExpectedResult&) = delete;
  ExpectedResult& operator=(const ExpectedResult&) = delete;

 private:
  agent::DeliveryLoop& results_;
  std::string id_;
};

// The result as an answer; it counts as handed over once it is written. The expectation lives as long as the answer: if
// the answer cannot be written, wait_for_message gets the result.
ToolResult answer_with(ToolContext& context, const agent::ReceivedRow& row, const Given& given,
                       std::shared_ptr<ExpectedResult> expectation) {
  auto& results = context.agent().results();
  const auto delivery = results.begin_result(row);
  const auto task = view_of(delivery, given);
  auto answer = answer_with(task, heading(task));
  answer.after = [&results, delivery, expectation = std::move(expectation)](bool written) {
    if (written) results.end_result(delivery);
  };
  return answer;
}

}  // namespace

client::Outcome<std::string> find_peer(agent::ApiClient& api, const std::string& meant) {
  if (const auto id = WorkspaceId::parse(meant)) return id->text();
  using client::Failure;
  const auto peers = api.peers();
  if (peers.has_error()) return peers.error();
  std::vector<std::string> found;
  for (const Json& peer : *peers) {
    if (peer.text("name") == meant) found.push_back(peer.text("id"));
  }
  if (found.size() == 1) return found.front();
  return Failure(Failure::Kind::stopped, found.empty() ? "no peer has this id or name; list_peers shows them"
                                                       : "several peers have this name; give the id of one: " +
                                                             fmt::format("{}", fmt::join(found, ", ")));
}

ToolResult delegate_task_async(ToolContext& context, Call& call, const Arguments& arguments) {
  ToolContext::ClientLease api(context, call);
  const auto given = give(context, *api, call, arguments, fresh_key());
  if (given.has_error()) return failure(given.error());
  const TaskView task{given->id, given->target, "delegated"};
  return answer_with(task, fmt::format("Task {} was given to {}. Its result will come as a message of type result; "
                                       "check_task_status shows its state.",
                                       given->id, given->target) +
                               describe_sent(given->files));
}

ToolResult delegate_task(ToolContext& context, Call& call, const Arguments& arguments) {
  const auto seconds = arguments.whole("timeout_seconds");
  const auto id = fresh_key();
  auto& results = context.agent().results();
  const auto expectation = std::make_shared<ExpectedResult>(results, id);
  std::optional<Given> given;
  {
    ToolContext::ClientLease api(context, call);
    const auto opened = give(context, *api, call, arguments, id);
    if (opened.has_error()) return failure(opened.error());
    given = *opened;
  }
  call.next_stage();
  const auto began = steady_clock::now();
  auto asked = began;
  std::string status = "queued";
  while (!call.cancelled() && steady_clock::now() - began < std::chrono::seconds(seconds)) {
    if (const auto row = results.wait_for_result(id, kWaitSlice))
      return answer_with(context, *row, *given, expectation);
    if (context.delivery_queue().closed())
      return failure("This session is over, or the server does not want this agent.");
    const std::chrono::duration<double> waited = steady_clock::now() - began;
    if (steady_clock::now() - asked >= kAskEvery || is_final(status)) {
      asked = steady_clock::now();
      ToolContext::ClientLease api(context, call);
      const auto state = api->delegation(id);
      if (state.has_value()) status = state->text("status");
      if (is_final(status)) context.agent().poll_now();
    }
    call.progress(waited.count(), static_cast<double>(seconds), "the task is " + status);
  }
  if (call.cancelled()) return failure("This was cancelled.");
  const TaskView task{id, given->target, status};
  return answer_with(
      task, fmt::format("Task {} is not done after {} s (it is {}), and goes on. To wait on, call wait_for_message: "
                        "the result comes as a message of type result. check_task_status with this delegation_id "
                        "shows its state. Do not give the task again.",
                        id, seconds, status));
}

ToolResult check_task_status(ToolContext& context, Call& call, const Arguments& arguments) {
  ToolContext::ClientLease api(context, call);
  const auto state = api->delegation(arguments.text("delegation_id"));
  if (state.has_error()) {
    if (state.error().is_status(404)) return failure("No task with this delegation_id was given by or to this agent.");
    return failure(state.error());
  }
  const auto task = view_of(*state, context.agent().files());
  return answer_with(task, heading(task));
}

ToolResult complete_task(ToolContext& context, Call& call, const Arguments& arguments) {
  const auto result = arguments.text("result"), error = arguments.text("error");
  if (result.empty() == error.empty()) return failure("Give either result (it is done) or error (it cannot be done).");
  ToolContext::ClientLease api(context, call);
  const auto id = arguments.text("delegation_id");
  // An ended task keeps its end. A stuck one still takes a late result.
  const auto before = api->delegation(id);
  const auto status = before.has_value() ? before->text("status") : std::string();
  if (status == "completed" || status == "failed") {
    const auto task = view_of(*before, context.agent().files());
    return answer_with(task,
                       fmt::format("Task {} had ended before, as {}. This call changed nothing, and its result was "
                                   "not sent. What stands:",
                                   id, status));
  }
  const auto files = send_files(context, *api, call, arguments.paths("attachments"));
  if (files.has_error()) return failure(files.error());
  using Ended = agent::ApiClient::Ended;
  const auto ended = error.empty() ? api->end_delegation(id, Ended::completed, result, fresh_key(), *files)
                                   : api->end_delegation(id, Ended::failed, error, fresh_key(), *files);
  if (ended.has_error()) {
    if (ended.error().is_status(404)) return failure("No task with this delegation_id was given to this agent.");
    return failure(ended.error());
  }
  const TaskView task{id, {}, error.empty() ? "completed" : "failed"};
  return answer_with(task, fmt::format("Task {} is reported as {}.", id, task.status) + describe_sent(*files));
}

}  // namespace restante::mcp
