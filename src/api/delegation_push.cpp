#include "api/delegation_push.h"

#include <utility>

#include <fmt/format.h>

#include "api/answers.h"
#include "api/push.h"
#include "desk/inbox/message_content.h"
#include "model/inbox_messages.h"

namespace restante::api {
namespace {

using Status = DelegationStatus;

DelegationReport report_of(Status status, std::string text) {
  DelegationReport report;
  report.status = status;
  report.text = std::move(text);
  return report;
}

std::string text_in(const Json* object, std::string_view name) {
  const Json* member = object ? object->find(name) : nullptr;
  return member && member->if_string() ? *member->if_string() : std::string();
}

// The state of an A2A task; empty when it is a message.
std::string state_of(const Json& result) { return text_in(result.find("status"), "state"); }

http::Response done(const Result<DelegationChange>&) { return http::json(200, "{}"); }

http::Response after_call(const Context& context, WorkspaceId target, const std::string& id,
                          const http::Forwarded& came) {
  if (!was_accepted(came)) return http::after(context.delegations.deliver(id), done);
  DelegationReport report = report_in(came);
  if (report.status == Status::dispatched) {
    return http::after(context.delegations.beat(target, id, std::nullopt), done);
  }
  return http::after(context.delegations.report(target, id, std::move(report), {}), done);
}

}  // namespace

DelegationReport report_in(const http::Forwarded& came) {
  if (came.status >= 400) return report_of(Status::failed, fmt::format("callback answered {}", came.status));
  const auto body = parse_json(came.body);
  if (!body) return report_of(Status::dispatched, "");
  if (const Json* error = body->find("error"); error && !error->is_null()) {
    const std::string why = text_in(error, "message");
    return report_of(Status::failed, why.empty() ? "the receiving agent answered with an error" : why);
  }
  const Json* result = body->find("result");
  if (!result || !result->if_object()) return report_of(Status::dispatched, "");
  InboxRow row;
  row.activity_type = "a2a_send";
  row.method = "message/send";
  row.response_body = came.body;
  const std::string content = desk::response_content(row).text;
  const std::string state = state_of(*result);
  if (state == "failed" || state == "rejected" || state == "canceled") {
    return report_of(Status::failed, content.empty() ? "the receiving agent's task is " + state : content);
  }
  if (!state.empty() && state != "completed") return report_of(Status::in_progress, content);
  return content.empty() && state.empty() ? report_of(Status::dispatched, "") : report_of(Status::completed, content);
}

std::optional<TaskCall> prepare_call(const Context& context, const Workspace& target) {
  const auto not_now = [&](std::string_view reason) {
    context.metrics.pushes(reason).Increment();
    return std::nullopt;
  };
  const auto url = http::parse_callback_url(target.url);
  if (!url || !context.push.rules.may_use_port(url->port)) return not_now("refused_address");
  auto permit = context.push.callbacks.acquire(target.id, target.url);
  if (!permit) return not_now("spared");
  auto secret = context.push.secrets.ensure(target.id);
  if (!secret) return not_now("failed");
  return TaskCall{std::move(permit), std::move(*secret)};
}

void push_task(const Context& context, TaskCall call, const Workspace& target, const NewDelegation& task,
               const Delegation& delegation) {
  const NewInboxRow row = task_message(delegation, task.task, task.files, task.traceparent);
  http::Forward order = callback_request(context, target, row, std::move(call.secret));
  order.then = [&context, permit = std::move(call.permit), callee = target.id,
                id = delegation.id](const http::Forwarded& came) mutable {
    // Called again when the store was unreachable; the result for the callback was recorded the first time.
    if (const auto unused = std::exchange(permit, nullptr)) {
      const bool taken = was_accepted(came);
      taken ? unused->succeeded() : unused->failed();
      context.metrics.pushes(taken ? "delivered" : name_of_outcome(came)).Increment();
    }
    return after_call(context, callee, id, came);
  };
  context.push.call(std::move(order));
}

}  // namespace restante::api
