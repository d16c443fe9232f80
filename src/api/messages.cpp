#include "api/messages.h"

#include "api/answers.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// The attachments of a notify as A2A file parts; each needs a uri and a name.
Result<Json::Array> attachment_parts(const Json& body) {
  Json::Array parts;
  const Json* attachments = body.find("attachments");
  if (!attachments || attachments->is_null()) return parts;
  const Error wrong = Error(errors::bad_field, {{"field", std::string("attachments")}})
                          .say("attachments must be a list of objects with uri and name");
  if (!attachments->if_array()) return wrong;
  for (const Json& item : *attachments->if_array()) {
    const auto uri = required_text(item, "uri");
    const auto name = required_text(item, "name");
    if (!uri || !name) return wrong;
    Json file = Json::object({{"uri", Json::string(*uri)}, {"name", Json::string(*name)}});
    if (const Json* type = item.find("mimeType"); type && type->if_string()) file.set("mimeType", *type);
    if (const Json* size = item.find("size"); size && size->integer()) file.set("size", *size);
    parts.push_back(Json::object({{"kind", Json::string("file")}, {"file", std::move(file)}}));
  }
  return parts;
}

}  // namespace

http::Response send_message(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const Principal& who = caller(request);
  const bool enrolling = who.role == Principal::Role::enrolment;
  const bool stranger = who.role == Principal::Role::sender && !who.is_person_of(*id);
  if (enrolling || stranger) return answer(errors::not_allowed);
  auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto target = context.workspaces.find(*id);
  if (!target) return answer(target.error());
  const auto envelope = desk::normalise_message(std::move(*body), context.clock.now());
  if (!envelope) return answer(envelope.error());
  // A push target's callback is not asked yet: its message waits in the inbox, and the answer says so.
  const bool poll = target->delivery_mode == DeliveryMode::poll;
  auto commit = context.messages.send(who, *id, *envelope, std::string(request.traceparent()));
  return http::after(std::move(commit), [poll](Result<Appended> appended) {
    if (!appended) return answer(appended.error());
    JsonWriter out;
    out.begin_object();
    out.member("delivery_mode", poll ? "poll" : "push-fallback");
    out.member("method", "message/send");
    out.member("status", "queued");
    out.member("activity_id", appended->id.text());
    out.member("seq", appended->seq);
    out.end_object();
    return http::json(200, out.take());
  });
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
