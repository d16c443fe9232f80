#include "api/delegation_push.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/push.h"
#include "desk/parts.h"

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

http::Response after_call(const Context& context, const Workspace& target, const std::string& id, http::Forwarded came,
                          http::Response accepted) {
  const auto kept = std::make_shared<const http::Response>(std::move(accepted));
  const auto answer_kept = [kept](const Result<DelegationChange>&) { return *kept; };
  if (!has_taken(came)) {
    context.metrics.pushes(name_of_outcome(came)).Increment();
    return http::after(context.delegations.deliver(id), answer_kept);
  }
  context.metrics.pushes("delivered").Increment();
  DelegationReport report = report_in(came);
  if (report.status == Status::dispatched) {
    return http::after(context.delegations.beat(target.id, id, std::nullopt), answer_kept);
  }
  return http::after(context.delegations.report(target.id, id, std::move(report), {}), answer_kept);
}

}  // namespace

DelegationReport report_in(const http::Forwarded& came) {
  if (came.status >= 400) return report_of(Status::failed, fmt::format("callback answered {}", came.status));
  const auto body = parse_json(came.body);
  if (!body) return report_of(Status::dispatched, "");
  if (const Json* error = body->find("error"); error && !error->is_null()) {
    const std::string why = text_in(error, "message");
    return report_of(Status::failed, why.empty() ? "the callee answered with an error" : why);
  }
  const Json* result = body->find("result");
  if (!result || !result->if_object()) return report_of(Status::dispatched, "");
  Activity row;
  row.activity_type = "a2a_send";
  row.method = "message/send";
  row.response_body = came.body;
  const std::string said = desk::answered_in(row).text;
  const std::string state = state_of(*result);
  if (state == "failed" || state == "rejected" || state == "canceled") {
    return report_of(Status::failed, said.empty() ? "the callee's task is " + state : said);
  }
  if (!state.empty() && state != "completed") return report_of(Status::in_progress, said);
  return said.empty() && state.empty() ? report_of(Status::dispatched, "") : report_of(Status::completed, said);
}

http::Response push_task(const Context& context, const Workspace& target, const NewDelegation& task,
                         const Delegation& delegation, http::Response accepted) {
  const auto into_inbox = [&](std::string_view reason) {
    context.metrics.pushes(reason).Increment();
    const auto kept = std::make_shared<const http::Response>(std::move(accepted));
    return http::after(context.delegations.deliver(delegation.id),
                       [kept](const Result<DelegationChange>&) { return *kept; });
  };
  const auto url = http::parse_callback_url(target.url);
  if (!url || !context.push.rules.may_use_port(url->port)) return into_inbox("refused_address");
  const auto leave = context.push.callbacks.ask(target.id, target.url);
  if (!leave) return into_inbox("spared");
  auto secret = context.push.secrets.ensure(target.id);
  if (!secret) return into_inbox("failed");
  const NewActivity row = task_message(delegation, task.task, task.files, task.traceparent);
  http::Forward order = order_of(context, target, row, std::move(*secret));
  order.then = [&context, leave, target, id = delegation.id,
                accepted = std::move(accepted)](http::Forwarded came) mutable {
    has_taken(came) ? leave->succeeded() : leave->failed();
    return after_call(context, target, id, std::move(came), std::move(accepted));
  };
  return http::forward(std::move(order));
}

}  // namespace restante::api
