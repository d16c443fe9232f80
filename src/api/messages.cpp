#include "api/messages.h"

#include "api/answers.h"
#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/push.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// Agents name themselves in a header; the token is the proof.
Result<void> check_named_caller(const http::Request& request, WorkspaceId owner) {
  const std::string_view named = request.header("X-Workspace-ID");
  if (named.empty()) return {};
  const auto id = WorkspaceId::parse(named);
  if (!id) return bad_parameter("X-Workspace-ID", "X-Workspace-ID must be a UUID");
  if (*id != owner)
    return Error(errors::not_allowed).with_sentence("X-Workspace-ID is not the workspace of this token");
  return {};
}

// The operator may always send, a person to their own workspace, an agent to those it may talk to.
Result<void> check_sender(const Context& context, const http::Request& request, WorkspaceId target) {
  const Principal& who = caller(request);
  if (who.role == Principal::Role::sender && !who.is_person_of(target)) return errors::not_allowed;
  if (who.role != Principal::Role::workspace) return {};
  if (const auto own = check_named_caller(request, *who.workspace_id); !own) return own.error();
  const auto allowed = context.access.check(*who.workspace_id, target);
  return allowed ? Result<void>() : allowed.error();
}

// Which row the agent's message answers, so that its sender can tell the answer from other messages.
void add_reply_to(NewInboxRow& row, InboxRowId answered) {
  Json response = parse_json(row.response_body).value();
  response.set("reply_to", Json::string(answered.text()));
  row.response_body = response.dump();
}

// A JSON-RPC method other than message/send.
bool is_unknown_method(const Json& body) {
  const Json* method = body.find("method");
  return method && method->if_string() && *method->if_string() != "message/send";
}

// The answer of JSON-RPC, which clients of A2A expect instead of our form of errors.
http::Response unknown_method(const Json& body) {
  const Json* id = body.find("id");
  const bool has_id = id && (id->if_string() || id->if_number());
  return object_answer(200, [&](JsonWriter& out) {
    out.member("jsonrpc", "2.0");
    out.raw_member("id", has_id ? id->dump() : "null");
    out.object("error", [&] {
      out.member("code", std::int64_t{-32601});
      out.member("message", "Method not found: the only method is message/send");
    });
  });
}

}  // namespace

http::Response send_message(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const Principal& who = caller(request);
  if (const auto allowed = check_sender(context, request, id); !allowed) return answer(allowed.error());
  auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/a2a");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  const auto target = context.workspaces.find(id);
  if (!target) return answer(target.error());
  if (is_unknown_method(*body)) return unknown_method(*body);
  auto envelope = desk::normalise_message(std::move(*body), context.clock.now());
  if (!envelope) return answer(envelope.error());
  const auto is_outgoing = [&](FileId file) {
    const auto found = context.uploads.find(who, id, file);
    return found && found->upload.direction == UploadDirection::out;
  };
  auto files = desk::address_files(who, id, *envelope, context.clock.now(), is_outgoing);
  if (!files) return answer(files.error());
  NewInboxRow row = desk::message_row(who, id, *envelope, std::string(request.traceparent()));
  if (!files->empty()) return send_with_files(context, idempotent, *target, std::move(row), std::move(*files));
  if (target->delivery_mode == DeliveryMode::push) return push_message(context, idempotent, *target, std::move(row));
  return post(context, idempotent, id, row,
              [ignored = row.ignored](const Result<Appended>& at) { return queued_answer("poll", ignored, at); });
}

http::Response post(const Context& context, const IdempotentRequest& idempotent, WorkspaceId workspace,
                    const NewInboxRow& row, std::function<http::Response(const Result<Appended>&)> to_answer) {
  return idempotent.perform<Appended>(
      [&](OptionalClaim<Appended> claim) { return context.messages.post(workspace, row, std::move(claim)); },
      std::move(to_answer));
}

void write_ignored(JsonWriter& out, const std::vector<std::string>& ignored) {
  if (!ignored.empty()) out.array("ignored", ignored, [&](const std::string& name) { out.string(name); });
}

http::Response queued_answer(std::string_view delivery_mode, const std::vector<std::string>& ignored,
                             const Result<Appended>& appended) {
  if (!appended) return answer(appended.error());
  return object_answer(200, [&](JsonWriter& out) {
    out.member("delivery_mode", delivery_mode);
    out.member("method", "message/send");
    out.member("status", "queued");
    out.member("activity_id", appended->id.text());
    out.member("seq", appended->seq);
    write_ignored(out, ignored);
  });
}

http::Response notify(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces/:id/notify");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  Fields fields(*body);
  const std::string text = fields.required_text("message");
  const std::string answered = fields.text("reply_to").value_or("");
  const auto reply_to = InboxRowId::parse(answered);
  if (!answered.empty() && !reply_to) fields.fail(bad_field("reply_to", "reply_to must be the id of an inbox row"));
  if (fields.error()) return answer(*fields.error());
  const auto parts = attachment_parts(*body);
  if (!parts) return answer(parts.error());
  if (const auto shown = context.outgoing.check_shown(id, *parts); !shown) return answer(shown.error());
  NewInboxRow row = desk::notify_row(id, text, *parts);
  if (reply_to) add_reply_to(row, *reply_to);
  return post(context, idempotent, id, row, fixed_answer(R"({"status":"sent"})"));
}

}  // namespace restante::api
