#include <fmt/format.h>

#include "agent/delivery.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "model/file_part.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

// Whether the server itself wrote the message: it gave us this task, from the message's sender and in these words. Of a
// recorded task the caller sends the words, and the server vouches for none of them.
bool is_from_server(const Json& record, const std::string& workspace, const Delivery& message) {
  const Json* words = record.find("task");
  return record.text("target_id") == workspace && message.source_id == record.text("source_id") &&
         (!words || (words->if_string() && *words->if_string() == message.text)) && !record.flag("recorded");
}

ApiClient::TaskView view_of(const Json& record) {
  using TaskInterest = ApiClient::TaskInterest;
  ApiClient::TaskView view;
  view.status = record.text("status");
  view.why = record.text("error_detail");
  if (view.why.empty()) view.why = view.status;
  if (view.status == "stuck") view.interest = TaskInterest::late;
  if (view.status == "failed" || view.status == "completed") view.interest = TaskInterest::unwanted;
  // Deadlines are in the server's time, so "now" must be too. agent_seen_at, our last sign of life, is a time of that
  // clock that has passed for certain. A laptop's clock may be hours off, and so may that of a proxy, which writes the
  // header Date.
  const auto deadline = parse_time(record.text("deadline"));
  const auto seen = parse_time(record.text("agent_seen_at"));
  if (view.interest != TaskInterest::wanted || !deadline || !seen) return view;
  view.left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - *seen);
  // The server ends the task at its next sweep. No caller waits for work that begins now.
  if (view.left->count() <= 0) {
    view.interest = TaskInterest::unwanted;
    view.why = "its deadline has passed";
  }
  return view;
}

}  // namespace

Outcome<ApiClient::TaskView> ApiClient::view_delegation(const Delivery& message) {
  const auto record = delegation(message.delegation_id);
  if (record.has_error()) return record.error();
  if (!is_from_server(*record, workspace_, message)) return TaskView{TaskInterest::not_a_task, {}, {}};
  return view_of(*record);
}

Outcome<ApiClient::TaskView> ApiClient::begin_delegation(const Delivery& message) {
  auto seen = view_delegation(message);
  if (seen.has_error() || seen->interest != TaskInterest::wanted) return seen;
  auto begin = json_request(delegation_path(message.delegation_id, "/update"), R"({"status":"in_progress"})");
  begin.repeatable = true;  // the same status again changes nothing
  const auto begun = tell(begin);
  if (begun.has_value()) return seen;
  if (!begun.error().is_status(409)) return begun.error();
  return view_delegation(message);  // the task has ended between the two requests
}

Outcome<ApiClient::TaskInterest> ApiClient::beat_delegation(std::string_view delegation) {
  const auto response = expect_success(http_.send(json_request(delegation_path(delegation, "/heartbeat"), "{}")));
  if (response.has_error()) return response.error();
  const auto body = parse_json(response->body);
  if (!body.has_value() || !body->flag("cancel")) return TaskInterest::wanted;
  return body->text("status") == "stuck" ? TaskInterest::late : TaskInterest::unwanted;
}

Outcome<void> ApiClient::end_delegation(std::string_view delegation, Ended end, std::string_view text,
                                        std::string_view key, const std::vector<Json>& files) {
  auto body = json_object([&](JsonWriter& out) {
    out.member("status", end == Ended::completed ? "completed" : "failed");
    out.member(end == Ended::completed ? "result" : "error", text);
    write_attachments(out, files);
  });
  return tell(json_request(delegation_path(delegation, "/update"), std::move(body), key));
}

}  // namespace restante::agent
