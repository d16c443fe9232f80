#include "api/handlers.h"

#include <algorithm>

#include "api/answers.h"
#include "api/delegation_push.h"
#include "api/delegation_rows.h"
#include "api/idempotency.h"
#include "api/messages.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Status = DelegationStatus;

Error bad_field(std::string_view field, std::string sentence) {
  return Error(errors::bad_field, {{"field", std::string(field)}}).with_sentence(std::move(sentence));
}

Result<std::optional<Time>> time_field(const Json& body, std::string_view name) {
  const auto text = text_field(body, name);
  if (!text) return text.error();
  if (!*text) return std::optional<Time>();
  const auto time = parse_time(**text);
  if (!time) return bad_field(name, std::string(name) + " must be a time of RFC 3339");
  return time;
}

// A text that may be absent but not empty.
Result<std::string> optional_text(const Json& body, std::string_view name) {
  auto text = text_field(body, name);
  if (!text) return text.error();
  if (*text && (*text)->empty()) return bad_field(name, std::string(name) + " must not be empty");
  return text->value_or(std::string());
}

Result<void> read_texts(const Json& body, desk::TaskRequest& order) {
  const std::pair<std::string_view, std::string*> fields[] = {{"delegation_id", &order.delegation_id},
                                                              {"idempotency_key", &order.idempotency_key},
                                                              {"retry_of", &order.retry_of},
                                                              {"parent_delegation_id", &order.parent_id},
                                                              {"task", &order.task}};
  for (const auto& [name, into] : fields) {
    auto text = optional_text(body, name);
    if (!text) return text.error();
    *into = std::move(*text);
  }
  return {};
}

Result<desk::TaskRequest> order_in(const Json& body, WorkspaceId caller_id, std::string_view traceparent) {
  desk::TaskRequest order;
  order.caller = caller_id;
  order.traceparent = traceparent;
  if (const auto read = read_texts(body, order); !read) return read.error();
  const auto target = optional_text(body, "target_id");
  if (!target) return target.error();
  if (!target->empty()) {
    order.target = WorkspaceId::parse(*target);
    if (!order.target) return bad_id("target_id");
  }
  const auto deadline = time_field(body, "deadline");
  if (!deadline) return deadline.error();
  order.deadline = *deadline;
  auto parts = attachment_parts(body);
  if (!parts) return parts.error();
  const Json* attachments = body.find("attachments");
  if (attachments && !attachments->is_null()) order.attachments = std::move(*parts);
  return order;
}

http::Response accepted(int status, std::string_view status_text, const Delegation& delegation, bool hit) {
  JsonWriter out;
  out.begin_object();
  out.member("delegation_id", delegation.id);
  out.member("status", status_text);
  out.member("target_id", delegation.callee_id.text());
  if (hit) {
    out.key("idempotent_hit");
    out.boolean(true);
  }
  out.end_object();
  return http::json(status, out.take());
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
  if (caller(request).role == Principal::Role::workspace) {
    const auto allowed = context.access.check(wanted->caller_id, wanted->callee_id);
    if (!allowed) return allowed.error();
  }
  auto target = context.workspaces.find(wanted->callee_id);
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
  JsonWriter out;
  out.begin_object();
  out.member("delegation_id", is.id);
  out.member("status", name_of(is.status));
  out.end_object();
  return http::json(200, out.take());
}

// A text, or any other JSON, which is passed on as it was written.
Result<std::string> result_in(const Json& body) {
  const auto preview = text_field(body, "response_preview");
  if (!preview) return preview.error();
  const Json* result = body.find("result");
  if (result && !result->is_null()) return result->if_string() ? *result->if_string() : result->dump();
  return preview->value_or(std::string());
}

Result<DelegationReport> report_in_body(const Json& body) {
  DelegationReport report;
  const auto named = required_text(body, "status");
  if (!named) return named.error();
  const auto status = parse_delegation_status(*named);
  if (status != Status::in_progress && status != Status::completed && status != Status::failed) {
    return Error(errors::bad_field,
                 {{"field", std::string("status")}, {"allowed", std::string("in_progress, completed, failed")}})
        .with_sentence("status must be one of in_progress, completed, failed");
  }
  report.status = *status;
  auto result = result_in(body);
  if (!result) return result.error();
  const auto error = text_field(body, "error");
  if (!error) return error.error();
  report.text = std::move(*result);
  if (report.status == Status::failed && *error && !(*error)->empty()) report.text = **error;
  if (report.status == Status::failed && report.text.empty()) report.text = "the receiving agent gave no reason";
  return report;
}

}  // namespace

http::Response delegate_task(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/delegate");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  auto order = order_in(*body, *id, request.traceparent());
  if (!order) return answer(order.error());
  auto ready = make_ready(context, request, std::move(*order));
  if (!ready) return answer(ready.error());
  if (ready->target.delivery_mode == DeliveryMode::push) return open_and_push(context, idempotent, std::move(*ready));
  return open(context, idempotent, ready->wanted, delegated);
}

http::Response record_delegation(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/delegations/record");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  if (const auto named = required_text(*body, "delegation_id"); !named) return answer(named.error());
  auto order = order_in(*body, *id, request.traceparent());
  if (!order) return answer(order.error());
  order->recorded = true;
  order->attachments.emplace();
  auto ready = make_ready(context, request, std::move(*order));
  if (!ready) return answer(ready.error());
  return open(context, idempotent, ready->wanted, recorded);
}

http::Response update_delegation(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  if (request.body.size() > kMaxResultBody) {
    return answer(Error(errors::result_too_large, {{"max", static_cast<std::int64_t>(kMaxResultBody)}}));
  }
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  auto report = report_in_body(*body);
  if (!report) return answer(report.error());
  auto parts = attachment_parts(*body);
  if (!parts) return answer(parts.error());
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.report(*id, *named, std::move(*report), std::move(*parts)), changed);
}

http::Response beat_delegation(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto body = heartbeat_body(request);
  if (!body) return answer(body.error());
  auto progress = text_field(*body, "progress");
  if (!progress) return answer(progress.error());
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.beat(*id, *named, std::move(*progress)),
                     [](const Result<DelegationChange>& change) {
                       if (!change) return answer(change.error());
                       JsonWriter out;
                       out.begin_object();
                       out.member("status", name_of(change->delegation.status));
                       out.key("cancel");
                       out.boolean(!change->delegation.in_flight());
                       out.end_object();
                       return http::json(200, out.take());
                     });
}

http::Response cancel_delegation(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return http::after(context.delegations.cancel(*id, *named), changed);
}

}  // namespace restante::api
