#include "api/uploads.h"

#include "api/answers.h"
#include "api/idempotency.h"
#include "api/push.h"
#include "http/media_type.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Outcome = http::Forwarded::Outcome;

constexpr std::string_view kIngest = "/internal/chat/uploads/ingest";
constexpr std::int64_t kRetryAfter = 5;  // seconds: an agent that restarts is usually back by then

// A query of the callback's URL stays after the path.
std::string ingest_url(http::CallbackUrl url) {
  while (url.path.ends_with('/')) url.path.pop_back();
  url.path += kIngest;
  return url.text();
}

Error unreachable(std::string_view outcome) {
  if (outcome == "refused_address") {
    return Error(errors::callback_unreachable, {{"reason", std::string(outcome)}})
        .with_sentence("this server may not call the workspace's url; its agent must register another");
  }
  return {errors::callback_unreachable, {{"reason", std::string(outcome)}, {"retry_after", kRetryAfter}}};
}

// A refusal is also an answer of the callback; a redirect is not, because it is not followed.
bool is_answer(const http::Forwarded& came) {
  return came.outcome == Outcome::answered && (came.status < 300 || came.status >= 400);
}

std::string_view outcome_of(const http::Forwarded& came) {
  if (!is_answer(came) || came.status >= 500 || came.status == 429) return name_of_outcome(came);
  return came.status < 300 ? "delivered" : "refused";
}

void record_outcome(desk::Callbacks::Permit& permit, const http::Forwarded& came) {
  if (came.outcome == Outcome::cut) return;  // shows a fault of the sender, not of the callback
  if (was_accepted(came)) {
    permit.succeeded();
  } else {
    permit.failed();
  }
}

// Answers once the row is stored or lost: the callback's answer is valid in both cases, because it has the upload.
http::Response beside(Commit<Result<Appended>> row, http::Response response) {
  auto later = std::make_shared<http::Later>();
  later->when_done = [row](std::function<void()> callback) mutable { row.on_done(std::move(callback)); };
  later->answer = [response = std::move(response)] { return response; };
  http::Response waiting;
  waiting.content = std::move(later);
  return waiting;
}

http::Response conclude(const Context& context, desk::UploadPush push, http::Forwarded came) {
  push.outcome = outcome_of(came);
  if (!came.connected) {
    context.push.uploads.record_undelivered(push.target, push.outcome);
    return answer(unreachable(push.outcome));
  }
  push.status = came.status;
  push.size = came.sent;
  push.took = came.took;
  push.reply = came.body;
  auto row = context.push.uploads.record(push);
  if (is_answer(came)) return beside(std::move(row), forwarded_answer(std::move(came)));
  return beside(std::move(row), answer(Error(errors::callback_failed, {{"reason", push.outcome}})));
}

// Nothing of the upload has been read yet: it can still be staged.
http::BodyHandling go_without(const Context& context, const http::Request& request, WorkspaceId target,
                              std::string_view outcome) {
  context.push.uploads.record_undelivered(target, context.push.stage_when_down ? "staged" : outcome);
  if (context.push.stage_when_down) return stage_uploads(context, request, target, UploadDirection::in);
  return answer(unreachable(outcome));
}

http::Forward callback_request(const Context& context, const http::Request& request, const http::CallbackUrl& url,
                               const desk::UploadPush& push, const std::string& secret) {
  http::Forward order;
  order.url = ingest_url(url);
  order.timeout = context.push.timeout;
  order.content_type = request.header("Content-Type");
  order.headers.emplace_back("Authorization", "Bearer " + secret);
  if (!push.traceparent.empty()) order.headers.emplace_back("traceparent", push.traceparent);
  const std::string_view key = request.header("Idempotency-Key");
  if (!key.empty()) order.headers.emplace_back("Idempotency-Key", key);
  order.may_connect = [&rules = context.push.rules](std::string_view address) { return rules.may_connect(address); };
  return order;
}

}  // namespace

http::BodyHandling push_upload(const Context& context, const http::Request& request, const Workspace& target) {
  if (target.url.empty()) return answer(target.mode_is_set ? errors::callback_missing : errors::no_callback);
  if (!http::form_data_boundary(request.header("Content-Type"))) return answer(errors::malformed_multipart);
  const auto url = http::parse_callback_url(target.url);
  if (!url || !context.push.rules.may_use_port(url->port)) {
    return go_without(context, request, target.id, "refused_address");
  }
  const std::string secret = context.push.secrets.find(target.id);
  if (secret.empty()) return answer(errors::no_inbound_secret);
  const auto permit = context.push.callbacks.acquire(target.id, target.url);
  if (!permit) return go_without(context, request, target.id, "spared");
  // Only the callback can detect a repeat, as the content only passes through; two at the same time are refused here.
  const auto idempotent = std::make_shared<std::optional<IdempotentRequest>>(
      IdempotentRequest(context, "POST /workspaces/:id/chat/uploads"));
  if (auto refused = (*idempotent)->enter(request)) return std::move(*refused);

  desk::UploadPush push;
  push.target = target.id;
  push.traceparent = request.traceparent();
  auto relay = std::make_unique<http::Relay>();
  relay->order = callback_request(context, request, *url, push, secret);
  relay->order.then = [&context, idempotent, permit, push](http::Forwarded came) {
    record_outcome(*permit, came);
    return conclude(context, push, std::move(came));
  };
  if (!context.push.stage_when_down) return relay;
  relay->instead = [&context, &request, idempotent, permit, id = target.id](const http::Forwarded& came) {
    record_outcome(*permit, came);
    idempotent->reset();  // staging claims the key itself
    return go_without(context, request, id, name_of_outcome(came));
  };
  return relay;
}

}  // namespace restante::api
