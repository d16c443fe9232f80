#include "api/push.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/answers.h"
#include "api/handlers.h"
#include "api/messages.h"
#include "base/names.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Outcome = http::Forwarded::Outcome;

Error refused(std::string sentence) {
  return Error(errors::callback_refused, {{"field", std::string("url")}}).with_sentence(std::move(sentence));
}

http::Response fall_back(const Context& context, const IdempotentRequest& idempotent, WorkspaceId target,
                         NewInboxRow row, std::string_view reason) {
  context.metrics.pushes(reason).Increment();  // the outcome of the call, whatever happens to the row
  row.error_detail = fmt::format("callback not used: {}", reason);
  return post(context, idempotent, target, row, [ignored = row.ignored](const Result<Appended>& at) {
    return queued_answer("push-fallback", ignored, at);
  });
}

http::Response pass_on(const Context& context, const IdempotentRequest& idempotent, WorkspaceId target, NewInboxRow row,
                       http::Forwarded came) {
  context.metrics.pushes("delivered").Increment();
  // Not a2a_receive: an agent that polls that type would get a message that its callback already has.
  row.activity_type = "a2a_send";
  const bool accepted = came.status < 300;
  row.status = accepted ? "ok" : "error";
  // A message that the agent refused may be sent again and must not count as a repeat then.
  if (!accepted) row.message_id.clear();
  if (!accepted) row.error_detail = fmt::format("callback answered {}", came.status);
  if (parse_json(came.body)) row.response_body = came.body;
  // Also when the row can no longer be stored: the callback has the message.
  const auto answer = std::make_shared<http::Response>(forwarded_answer(std::move(came)));
  // The body is the callback's and stays as it is.
  if (!row.ignored.empty()) {
    answer->headers.emplace_back("Restante-Ignored", fmt::format("{}", fmt::join(row.ignored, ", ")));
  }
  return post(context, idempotent, target, row, [answer](const Result<Appended>&) { return *answer; });
}

}  // namespace

http::Forward callback_request(const Context& context, const Workspace& target, const NewInboxRow& row,
                               std::string secret) {
  http::Forward order;
  order.url = target.url;
  order.content_type = http::kJson;
  order.body = row.request_body;
  order.timeout = context.push.timeout;
  order.headers.emplace_back("Authorization", "Bearer " + secret);
  if (row.source_id) order.headers.emplace_back("X-Workspace-ID", row.source_id->text());
  if (!row.traceparent.empty()) order.headers.emplace_back("traceparent", row.traceparent);
  order.may_connect = [&rules = context.push.rules](std::string_view address) { return rules.may_connect(address); };
  return order;
}

std::string_view name_of_outcome(const http::Forwarded& came) {
  static constexpr Names<Outcome, Outcome::cut> kOutcomes{"failed",    "refused_address", "unreachable", "timed_out",
                                                          "bad_reply", "too_large",       "cut"};
  if (came.outcome != Outcome::answered) return kOutcomes.of(came.outcome);
  return came.status >= 300 && came.status < 400 ? "redirected" : came.status == 429 ? "busy" : "failed";
}

bool was_accepted(const http::Forwarded& came) {
  if (came.outcome != Outcome::answered || came.status == 429) return false;
  return (came.status >= 200 && came.status < 300) || (came.status >= 400 && came.status < 500);
}

http::Response forwarded_answer(http::Forwarded came) {
  http::Response response;
  response.status = came.status;
  const auto printable = [](char c) { return c >= ' ' && c < '\x7f'; };
  if (!came.content_type.empty() && came.content_type.size() <= 256 &&
      std::ranges::all_of(came.content_type, printable)) {
    response.headers.emplace_back("Content-Type", std::move(came.content_type));
  }
  response.headers.emplace_back("Content-Security-Policy", "sandbox; default-src 'none'");
  response.content = std::move(came.body);
  return response;
}

Result<void> check_callback(const Context& context, DeliveryMode mode, std::string_view text) {
  if (text.empty() || mode == DeliveryMode::poll) return {};
  const auto url = http::parse_callback_url(text);
  if (!url) return refused(std::string(http::sentence_of(url.error())));
  if (!context.push.rules.may_use_port(url->port)) {
    return refused(
        fmt::format("the url's port {} is not one this server calls; 80 and 443 are, and what the operator "
                    "lists in push.allow_ports",
                    url->port));
  }
  const auto addresses = context.push.resolve(url->host);
  if (addresses.empty()) return refused("the url's host name did not resolve; check it, or try again");
  const bool all_fine =
      std::ranges::all_of(addresses, [&](const auto& address) { return context.push.rules.may_connect(address); });
  if (!all_fine) {
    return refused(
        "the url leads to an address that is not public: register with delivery_mode poll, or let the operator list "
        "the "
        "network in push.allow_networks");
  }
  return {};
}

Result<std::string> inbound_secret(const Context& context, const Workspace& workspace) {
  if (workspace.delivery_mode != DeliveryMode::push) return std::string();
  return context.push.secrets.ensure(workspace.id);
}

http::Response push_message(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                            NewInboxRow row) {
  const auto url = http::parse_callback_url(target.url);
  if (!url || !context.push.rules.may_use_port(url->port)) {
    return fall_back(context, idempotent, target.id, std::move(row), "refused_address");
  }
  const auto permit = context.push.callbacks.acquire(target.id, target.url);
  if (!permit) return fall_back(context, idempotent, target.id, std::move(row), "spared");
  auto secret = context.push.secrets.ensure(target.id);
  if (!secret) return answer(secret.error());
  http::Forward order = callback_request(context, target, row, std::move(*secret));
  order.then = [&context, idempotent, permit, row = std::move(row), id = target.id](http::Forwarded came) mutable {
    row.duration_ms = came.took.count();
    const bool taken = was_accepted(came);
    if (taken) {
      permit->succeeded();
    } else {
      permit->failed();
    }
    return taken ? pass_on(context, idempotent, id, std::move(row), std::move(came))
                 : fall_back(context, idempotent, id, std::move(row), name_of_outcome(came));
  };
  return http::forward(std::move(order));
}

http::Response rotate_inbound_secret(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto workspace = context.workspaces.find(id);
  if (!workspace) return answer(workspace.error());
  const auto secret = context.push.secrets.rotate(id);
  if (!secret) return answer(secret.error());
  return object_answer(200, [&](JsonWriter& out) {
    out.member("platform_inbound_secret", *secret);
    out.member("workspace_id", id.text());
  });
}

}  // namespace restante::api
