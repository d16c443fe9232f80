#include "api/handlers.h"

#include <algorithm>

#include "api/answers.h"
#include "api/delegation_push.h"
#include "api/idempotency.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

constexpr std::size_t kShortReport = 64 << 10;

using Status = DelegationStatus;

Result<desk::TaskRequest> order_in(const Json& body, WorkspaceId caller_id, std::string_view traceparent) {
  Fields fields(body);
  desk::TaskRequest order;
  order.caller = caller_id;
  order.traceparent = traceparent;
  order.delegation_id = fields.filled_text("delegation_id");
  order.idempotency_key = fields.filled_text("idempotency_key");
  order.retry_of = fields.filled_text("retry_of");
  order.parent_id = fields.filled_text("parent_delegation_id");
  order.task = fields.filled_text("task");
  fields.filled_text("target_id");
  order.target = fields.workspace("target_id");
  order.deadline = fields.time("deadline");
  auto parts = attachment_parts(body);
  if (!parts) fields.fail(parts.error());
  const Json* attachments = body.find("attachments");
  if (parts && attachments && !attachments->is_null()) order.attachments = std::move(*parts);
  return fields.result(std::move(order));
}

http::Response accepted(int status, std::string_view status_text, const Delegation& delegation, bool hit) {
  return object_answer(status, [&](JsonWriter& out) {
    out.member("delegation_id", delegation.id);
    out.member("status", status_text);
    out.member("target_id", delegation.callee_id.text());
    out.flag("idempotent_hit", hit);
  });
}

http::Response delegated(const Result<OpenedDelegation>& opened) {
  if (!opened) return answer(opened.error());
  if (opened->hit) return accepted(200, name_of(opened->delegation.status), opened->delegation, true);
  return accepted(202, "delegated", opened->delegation, false);
}

http::Response recorded(const Result<OpenedDelegation>& opened) {
  if (!opened) return answer(opened.error());
  return accepted(opened->hit ? 200 : 202, "recorded", opened->delegation, opened->hit);
}

// All checks that a request must pass before it becomes a task, and its target.
struct Ready {
  NewDelegation wanted;
  Workspace target;
};

Result<Ready> make_ready(const Context& context, const http::Request& request, desk::TaskRequest order) {
  if (const auto whole = context.delegations.complete_retry(order); !whole) return whole.error();
  auto wanted = context.delegations.prepare(std::move(order));
  if (!wanted) return wanted.error();
  const bool by_operator = caller(request).role != Principal::Role::workspace;
  auto target = by_operator ? context.workspaces.find(wanted->callee_id)
                            : context.access.check(wanted->caller_id, wanted->callee_id);
  if (!target) return target.error();
  return Ready{std::move(*wanted), std::move(*target)};
}

http::Response open(const Context& context, const IdempotentRequest& idempotent, const NewDelegation& wanted,
                    http::Response (*to_answer)(const Result<OpenedDelegation>&),
                    const std::function<void(const OpenedDelegation&)>& seen = {}) {
  return idempotent.perform<OpenedDelegation>(
      [&](OptionalClaim<OpenedDelegation> claim) {
        auto commit = context.delegations.open(wanted, std::move(claim));
        if (seen) {
          commit.then([seen](const Result<OpenedDelegation>& opened) {
            if (opened) seen(*opened);
          });
        }
        return commit;
      },
      to_answer);
}

// The task is stored and answered; then the callback is called. A crash in between leaves a task that the sweep puts
// into the inbox.
http::Response open_and_push(const Context& context, const IdempotentRequest& idempotent, Ready ready) {
  auto call = prepare_call(context, ready.target);
  if (!call) return open(context, idempotent, ready.wanted, delegated);
  ready.wanted.to_inbox = false;
  const auto made = std::make_shared<std::optional<Delegation>>();
  http::Response response = open(context, idempotent, ready.wanted, delegated, [made](const OpenedDelegation& opened) {
    if (!opened.hit) *made = opened.delegation;
  });
  auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content);
  if (!later) return response;
  (*later)->may_block = http::MayBlock::on_rows;  // it builds a message of up to a megabyte
  (*later)->answer = [&context, made, call = std::move(*call), ready = std::move(ready),
                      first = std::move((*later)->answer)] {
    http::Response answer_now = first();
    if (*made) push_task(context, call, ready.target, ready.wanted, **made);
    return answer_now;
  };
  return response;
}

http::Response changed(const Result<DelegationChange>& change) {
  if (!change) return answer(change.error());
  const Delegation& is = change->delegation;
  const bool late = change->outcome == DelegationOutcome::late;
  if (late || change->outcome == DelegationOutcome::refused) {
    Error error(
        errors::delegation_ended,
        {{"delegation_id", is.id}, {"status", std::string(name_of(is.status))}, {"error_detail", is.error_detail}});
    if (late)
      error.with_sentence(
          "this delegation has ended, and its outcome no longer changes; your answer was kept and is handed to the "
          "caller "
          "as a late one");
    return answer(error);
  }
  return object_answer(200, [&](JsonWriter& out) {
    out.member("delegation_id", is.id);
    out.member("status", name_of(is.status));
  });
}

// A text, or any other JSON, which is passed on as it was written.
std::string result_in(const Json& body, Fields& fields) {
  const auto preview = fields.text("response_preview");
  const Json* result = body.find("result");
  if (result && !result->is_null()) return result->if_string() ? *result->if_string() : result->dump();
  return preview.value_or("");
}

Result<DelegationReport> report_in_body(const Json& body) {
  Fields fields(body);
  DelegationReport report;
  const auto status = parse_delegation_status(fields.required_text("status"));
  if (status != Status::in_progress && status != Status::completed && status != Status::failed) {
    fields.fail(not_one_of(errors::bad_field, "status", "in_progress, completed, failed"));
  }
  report.status = status.value_or(Status::failed);
  report.text = result_in(body, fields);
  const std::string error = fields.text("error").value_or("");
  if (report.status == Status::failed && !error.empty()) report.text = error;
  if (report.status == Status::failed && report.text.empty()) report.text = "the receiving agent gave no reason";
  return fields.result(std::move(report));
}

}  // namespace

http::Response delegate_task(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/delegate");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  auto order = order_in(*body, id, request.traceparent());
  if (!order) return answer(order.error());
  auto ready = make_ready(context, request, std::move(*order));
  if (!ready) return answer(ready.error());
  if (ready->target.delivery_mode == DeliveryMode::push) return open_and_push(context, idempotent, std::move(*ready));
  return open(context, idempotent, ready->wanted, delegated);
}

http::Response record_delegation(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/delegations/record");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  Fields fields(*body);
  fields.required_text("delegation_id");
  if (fields.error()) return answer(*fields.error());
  auto order = order_in(*body, id, request.traceparent());
  if (!order) return answer(order.error());
  order->recorded = true;
  order->attachments.emplace();
  auto ready = make_ready(context, request, std::move(*order));
  if (!ready) return answer(ready.error());
  return open(context, idempotent, ready->wanted, recorded);
}

http::Response update_delegation(const Context& context, http::Request& request) {
  if (request.body.size() > kMaxResultBody) {
    return answer(Error(errors::result_too_large, {{"max", static_cast<std::int64_t>(kMaxResultBody)}}));
  }
  // A short report ends a task and is taken as an ack is. No task can have many of them, and no new task is opened.
  if (request.body.size() > kShortReport) {
    if (auto refused = refuse_without_room(context, request)) return std::move(*refused);
  }
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  auto report = report_in_body(*body);
  if (!report) return answer(report.error());
  auto parts = attachment_parts(*body);
  if (!parts) return answer(parts.error());
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.report(workspace_in(request), *named, std::move(*report), std::move(*parts)),
                     changed);
}

http::Response beat_delegation(const Context& context, http::Request& request) {
  const auto body = heartbeat_body(request);
  if (!body) return answer(body.error());
  Fields fields(*body);
  auto progress = fields.text("progress");
  if (fields.error()) return answer(*fields.error());
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.beat(workspace_in(request), *named, std::move(progress)),
                     [](const Result<DelegationChange>& change) {
                       if (!change) return answer(change.error());
                       return object_answer(200, [&](JsonWriter& out) {
                         out.member("status", name_of(change->delegation.status));
                         out.member("cancel", !change->delegation.in_flight());
                       });
                     });
}

http::Response cancel_delegation(const Context& context, http::Request& request) {
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.cancel(workspace_in(request), *named), changed);
}

}  // namespace restante::api
