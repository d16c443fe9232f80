#include <fmt/format.h>

#include "agent/attachments.h"
#include "agent/members.h"
#include "agent/platform.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

constexpr std::size_t kMaxRecord = 16 << 20;  // it carries the whole task and its history
constexpr JsonLimits kRecordLimits{.depth = 80, .nodes = 1'000'000};

bool is_status(const Failure& failure, int status) {
  return failure.kind == Failure::Kind::status && failure.status == status;
}

// What a server answers that has no such resource: not every one lets tasks be looked at.
bool is_not_known(const Failure& failure) {
  return is_status(failure, 404) || is_status(failure, 405) || is_status(failure, 501);
}

Platform::TaskView view_of(const Json& record) {
  using Standing = Platform::Standing;
  Platform::TaskView view;
  view.status = text_of(record, "status");
  view.why = text_of(record, "error_detail");
  if (view.why.empty()) view.why = view.status;
  if (view.status == "stuck") view.standing = Standing::late;
  if (view.status == "failed" || view.status == "completed") view.standing = Standing::unwanted;
  // Deadlines are told by the server's own clock, and our last sign of life is a moment of that clock that has passed
  // for certain. A laptop's clock may be hours off, and so may that of a proxy, which writes the header Date.
  const auto deadline = parse_time(text_of(record, "deadline"));
  const auto seen = parse_time(text_of(record, "agent_seen_at"));
  if (view.standing != Standing::wanted || !deadline || !seen) return view;
  view.left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - *seen);
  // The server notices at its next sweep; whatever is begun now is for nobody.
  if (view.left->count() <= 0) {
    view.standing = Standing::unwanted;
    view.why = "its deadline has passed";
  }
  return view;
}

}  // namespace

Outcome<Platform::TaskView> Platform::look_at_delegation(std::string_view delegation) {
  auto look = request("GET", fmt::format("/workspaces/{}/delegations/{}", workspace_, percent_encode(delegation)));
  look.max_body = kMaxRecord;
  const auto answer = expect_success(http_.send(look));
  if (answer.has_error()) return answer.error();
  const auto record = parse_json(answer->body, kRecordLimits);
  if (record.has_error()) return Failure(Failure::Kind::protocol, "the server's answer is not valid JSON");
  return view_of(*record);
}

Outcome<Platform::TaskView> Platform::begin_delegation(std::string_view delegation) {
  auto seen = look_at_delegation(delegation);
  if (seen.has_error() && !is_not_known(seen.error())) return seen.error();
  const auto view = seen.has_value() ? *seen : TaskView();
  if (view.standing != Standing::wanted) return view;
  auto begin = post(fmt::format("/workspaces/{}/delegations/{}/update", workspace_, percent_encode(delegation)),
                    R"({"status":"in_progress"})");
  begin.repeatable = true;  // the same status again changes nothing
  const auto told = expect_success(http_.send(begin));
  if (told.has_value()) return view;
  if (!is_status(told.error(), 409)) return told.error();
  // It has ended between the two.
  seen = look_at_delegation(delegation);
  if (seen.has_error() && is_not_known(seen.error())) return TaskView{Standing::unwanted, {}, told.error().sentence};
  return seen;
}

Outcome<Platform::Standing> Platform::beat_delegation(std::string_view delegation) {
  const auto told = expect_success(http_.send(
      post(fmt::format("/workspaces/{}/delegations/{}/heartbeat", workspace_, percent_encode(delegation)), "{}")));
  if (told.has_error()) return told.error();
  const auto body = parse_json(told->body);
  if (!body.has_value() || !flag_of(*body, "cancel")) return Standing::wanted;
  return text_of(*body, "status") == "stuck" ? Standing::late : Standing::unwanted;
}

Outcome<void> Platform::end_delegation(std::string_view delegation, Ended end, std::string_view text,
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
  const auto told = expect_success(http_.send(update));
  if (told.has_error()) return told.error();
  return {};
}

}  // namespace restante::agent
