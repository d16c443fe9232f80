#include "api/messages.h"

#include "api/answers.h"
#include "api/push.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// The attachments of a notify as A2A file parts; each needs a uri and a name.
Result<Json::Array> attachment_parts(const Json& body) {
  Json::Array parts;
  const Json* attachments = body.find("attachments");
  if (!attachments || attachments->is_null()) return parts;
  const Error wrong =
      Error(errors::bad_field, {{"field", std::string("attachments")}})
          .say("attachments must be a list of objects with uri and name, and mimeType and size of the right type");
  if (!attachments->if_array()) return wrong;
  for (const Json& item : *attachments->if_array()) {
    const auto uri = required_text(item, "uri");
    const auto name = required_text(item, "name");
    if (!uri || !name) return wrong;
    Json file = Json::object({{"uri", Json::string(*uri)}, {"name", Json::string(*name)}});
    const auto type = text_field(item, "mimeType");
    const auto size = whole_field(item, "size");
    if (!type || !size) return wrong;
    if (*type) file.set("mimeType", Json::string(**type));
    if (*size) file.set("size", Json::number(**size));
    parts.push_back(Json::object({{"kind", Json::string("file")}, {"file", std::move(file)}}));
  }
  return parts;
}

}  // namespace

http::Response send_message(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const Principal& who = caller(request);
  const bool stranger = who.role == Principal::Role::sender && !who.is_person_of(*id);
  if (stranger) return answer(errors::not_allowed);
  if (who.role == Principal::Role::workspace) {
    const std::string_view named = request.header("X-Workspace-ID");
    if (!named.empty() && WorkspaceId::parse(named) != who.workspace_id) {
      return answer(Error(errors::not_allowed).say("X-Workspace-ID is not the workspace of this token"));
    }
    if (const auto allowed = context.access.check(*who.workspace_id, *id); !allowed) return answer(allowed.error());
  }
  auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto target = context.workspaces.find(*id);
  if (!target) return answer(target.error());
  const auto envelope = desk::normalise_message(std::move(*body), context.clock.now());
  if (!envelope) return answer(envelope.error());
  if (target->delivery_mode == DeliveryMode::push) {
    return push_message(context, who, *target, *envelope, std::string(request.traceparent()));
  }
  auto commit = context.messages.send(who, *id, *envelope, std::string(request.traceparent()));
  return http::after(std::move(commit),
                     [](const Result<Appended>& appended) { return queued_answer("poll", appended); });
}

http::Response queued_answer(std::string_view delivery_mode, const Result<Appended>& appended) {
  if (!appended) return answer(appended.error());
  JsonWriter out;
  out.begin_object();
  out.member("delivery_mode", delivery_mode);
  out.member("method", "message/send");
  out.member("status", "queued");
  out.member("activity_id", appended->id.text());
  out.member("seq", appended->seq);
  out.end_object();
  return http::json(200, out.take());
}

http::Response notify(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto text = required_text(*body, "message");
  if (!text) return answer(text.error());
  const auto parts = attachment_parts(*body);
  if (!parts) return answer(parts.error());
  return http::after(context.messages.notify(*id, *text, *parts), [](Result<Appended> appended) {
    return appended ? http::json(200, R"({"status":"sent"})") : answer(appended.error());
  });
}

}  // namespace restante::api
