#include <fmt/format.h>

#include "agent/api_client.h"
#include "agent/attachments.h"
#include "agent/members.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

constexpr std::size_t kMaxRecord = 16 << 20;  // the record contains the whole task and its history
constexpr JsonLimits kRecordLimits{.depth = 80, .nodes = 1'000'000};

bool is_status(const Failure& failure, int status) {
  return failure.kind == Failure::Kind::status && failure.status == status;
}

// The answer of a server without this resource: not every server lets an agent read tasks.
bool is_not_known(const Failure& failure) {
  return is_status(failure, 404) || is_status(failure, 405) || is_status(failure, 501);
}

ApiClient::TaskView view_of(const Json& record) {
  using TaskInterest = ApiClient::TaskInterest;
  ApiClient::TaskView view;
  view.status = text_of(record, "status");
  view.why = text_of(record, "error_detail");
  if (view.why.empty()) view.why = view.status;
  if (view.status == "stuck") view.interest = TaskInterest::late;
  if (view.status == "failed" || view.status == "completed") view.interest = TaskInterest::unwanted;
  // Deadlines are in the server's time, so "now" must be too. agent_seen_at, our last sign of life, is a time of that
  // clock that has passed for certain. A laptop's clock may be hours off, and so may that of a proxy, which writes the
  // header Date.
  const auto deadline = parse_time(text_of(record, "deadline"));
  const auto seen = parse_time(text_of(record, "agent_seen_at"));
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

Outcome<ApiClient::TaskView> ApiClient::view_delegation(std::string_view delegation) {
  auto get = request("GET", fmt::format("/workspaces/{}/delegations/{}", workspace_, percent_encode(delegation)));
  get.max_body = kMaxRecord;
  const auto answer = expect_success(http_.send(get));
  if (answer.has_error()) return answer.error();
  const auto record = parse_json(answer->body, kRecordLimits);
  if (record.has_error()) return Failure(Failure::Kind::protocol, "the server's answer is not valid JSON");
  return view_of(*record);
}

Outcome<ApiClient::TaskView> ApiClient::begin_delegation(std::string_view delegation) {
  auto seen = view_delegation(delegation);
  if (seen.has_error() && !is_not_known(seen.error())) return seen.error();
  const auto view = seen.has_value() ? *seen : TaskView();
  if (view.interest != TaskInterest::wanted) return view;
  auto begin = post(fmt::format("/workspaces/{}/delegations/{}/update", workspace_, percent_encode(delegation)),
                    R"({"status":"in_progress"})");
  begin.repeatable = true;  // the same status again changes nothing
  const auto response = expect_success(http_.send(begin));
  if (response.has_value()) return view;
  if (!is_status(response.error(), 409)) return response.error();
  // The task has ended between the two requests.
  seen = view_delegation(delegation);
  if (seen.has_error() && is_not_known(seen.error()))
    return TaskView{TaskInterest::unwanted, {}, response.error().sentence};
  return seen;
}

Outcome<ApiClient::TaskInterest> ApiClient::beat_delegation(std::string_view delegation) {
  const auto response = expect_success(http_.send(
      post(fmt::format("/workspaces/{}/delegations/{}/heartbeat", workspace_, percent_encode(delegation)), "{}")));
  if (response.has_error()) return response.error();
  const auto body = parse_json(response->body);
  if (!body.has_value() || !flag_of(*body, "cancel")) return TaskInterest::wanted;
  return text_of(*body, "status") == "stuck" ? TaskInterest::late : TaskInterest::unwanted;
}

Outcome<void> ApiClient::end_delegation(std::string_view delegation, Ended end, std::string_view text,
                                        std::string_view key, const std::vector<Json>& files) {
  JsonWriter body;
  body.begin_object();
  body.member("status", end == Ended::completed ? "completed" : "failed");
  body.member(end == Ended::completed ? "result" : "error", text);
  write_attachments(body, files);
  body.end_object();
  auto update =
      post(fmt::format("/workspaces/{}/delegations/{}/update", workspace_, percent_encode(delegation)), body.take());
  update.headers.push_back({"Idempotency-Key", std::string(key)});
  const auto response = expect_success(http_.send(update));
  if (response.has_error()) return response.error();
  return {};
}

}  // namespace restante::agent
