#include "desk/messages.h"

#include "base/text.h"
#include "desk/workspaces.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr std::size_t kSummaryBytes = 200;

Error bad_field(std::string_view field, std::string sentence) {
  return Error(errors::bad_field, {{"field", std::string(field)}}).say(std::move(sentence));
}

Result<void> normalise_parts(Json& message) {
  if (const Json* content = message.find("content"); content && !message.find("parts")) {
    Json::Array parts;
    if (const auto* text = content->if_string()) {
      parts.push_back(Json::object({{"kind", Json::string("text")}, {"text", Json::string(*text)}}));
    } else if (const auto* list = content->if_array()) {
      parts = *list;
    } else {
      return bad_field("content", "message.content must be a text or a list of parts");
    }
    message.erase("content");
    message.set("parts", Json::array(std::move(parts)));
  }
  Json* parts = message.find("parts");
  if (!parts || !parts->if_array() || parts->if_array()->empty()) {
    return bad_field("parts", "message.parts must be a list with at least one part");
  }
  for (Json& part : *parts->if_array()) {
    if (!part.if_object()) return bad_field("parts", "every part must be an object");
    if (const Json* type = part.find("type"); type && !part.find("kind")) {
      const Json kind = *type;
      part.erase("type");
      part.set("kind", kind);
    }
  }
  return {};
}

std::string first_text(const Json& message) {
  for (const Json& part : *message.find("parts")->if_array()) {
    const Json* text = part.find("text");
    if (text && text->if_string()) return *text->if_string();
  }
  return "message";
}

}  // namespace

Result<Envelope> normalise_message(Json request, Time now) {
  if (!request.if_object()) return Error(errors::bad_json).say("the body must be a JSON object");
  const Json* method = request.find("method");
  if (!method || !method->if_string() || *method->if_string() != "message/send") {
    return bad_field("method", "method must be \"message/send\"");
  }
  Json* params = request.find("params");
  Json* message = params ? params->find("message") : nullptr;
  if (!message || !message->if_object()) return bad_field("params", "params.message must be an object");
  const auto parts = normalise_parts(*message);
  if (!parts) return parts.error();
  const Json* id = message->find("messageId");
  if (id && !id->is_null() && !id->if_string()) return bad_field("messageId", "message.messageId must be a text");
  if (!id || !id->if_string() || id->if_string()->empty())
    message->set("messageId", Json::string(Uuid::make(now).text()));
  const Json* role = message->find("role");
  if (role && !role->is_null() && !role->if_string()) return bad_field("role", "message.role must be a text");
  if (!role || role->is_null()) message->set("role", Json::string("user"));
  const std::string message_id = *message->find("messageId")->if_string();
  if (!request.find("jsonrpc")) request.set("jsonrpc", Json::string("2.0"));
  if (!request.find("id")) request.set("id", Json::string(message_id));
  return Envelope{std::move(request), message_id};
}

Commit<Result<Appended>> Messages::append(WorkspaceId workspace, const NewActivity& activity) {
  auto commit = store_.append_activity(workspace, activity, clock_.now());
  commit.then([&news = news_, workspace, activity](const Result<Appended>& at) {
    if (at) news.appended(workspace, *at, activity);
  });
  return commit;
}

NewActivity message_row(const Principal& caller, WorkspaceId target, const Envelope& envelope,
                        std::string traceparent) {
  NewActivity row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  if (caller.role == Principal::Role::workspace) row.source_id = caller.workspace_id;
  row.target_id = target;
  row.summary = cut_utf8(first_text(*envelope.json.find("params")->find("message")), kSummaryBytes);
  row.request_body = envelope.json.dump();
  row.message_id = envelope.message_id;
  row.traceparent = std::move(traceparent);
  return row;
}

Commit<Result<Appended>> Messages::send(const Principal& caller, WorkspaceId target, const Envelope& envelope,
                                        std::string traceparent) {
  log_.info("message_queued", {{"workspace_id", target.text()}});
  return append(target, message_row(caller, target, envelope, std::move(traceparent)));
}

Commit<Result<Appended>> Messages::record_push(WorkspaceId target, const NewActivity& row) {
  log_.info(row.activity_type == "a2a_send" ? "message_pushed" : "message_queued",
            {{"workspace_id", target.text()},
             {"status", row.status},
             {"reason", row.error_detail},
             {"duration_ms", row.duration_ms.value_or(0)}});
  return append(target, row);
}

Commit<Result<Appended>> Messages::notify(WorkspaceId workspace, const std::string& text, const Json::Array& parts) {
  Json response = Json::object({{"result", Json::string(text)}});
  if (!parts.empty()) response.set("parts", Json::array(parts));
  NewActivity row;
  row.activity_type = "a2a_receive";
  row.method = "notify";
  row.target_id = workspace;
  row.summary = cut_utf8(text, kSummaryBytes);
  row.response_body = response.dump();
  return append(workspace, row);
}

}  // namespace restante::desk
