#include "desk/inbox/messages.h"

#include "base/text.h"
#include "desk/principals/idempotency.h"
#include "model/errors.h"
#include "model/inbox_messages.h"
#include "model/reserved_members.h"

namespace restante::desk {
namespace {

Error bad_field(std::string_view field, std::string sentence) {
  return Error(errors::bad_field, {{"field", std::string(field)}}).with_sentence(std::move(sentence));
}

// Null counts as absent.
const Json* given(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member && !member->is_null() ? member : nullptr;
}

Result<void> take_content(Json& message) {
  const Json* parts = given(message, "parts");
  const Json* content = given(message, "content");
  const bool has_parts = parts && !(parts->if_array() && parts->if_array()->empty());
  if (!content || has_parts) return {};
  Json::Array made;
  if (const auto* text = content->if_string()) {
    made.push_back(Json::object({{"kind", Json::string("text")}, {"text", Json::string(*text)}}));
  } else if (const auto* list = content->if_array()) {
    made = *list;
  } else {
    return bad_field("content", "message.content must be a text or a list of parts");
  }
  message.erase("content");
  message.set("parts", Json::array(std::move(made)));
  return {};
}

Result<void> normalise_part(Json& part) {
  if (!part.if_object()) return bad_field("parts", "every part must be an object");
  if (const Json* type = given(part, "type"); type && !given(part, "kind")) {
    Json kind = *type;
    part.erase("type");
    part.set("kind", std::move(kind));
  }
  const Json* kind = given(part, "kind");
  const Json* text = given(part, "text");
  if (kind && !kind->if_string()) return bad_field("parts", "the kind of a part must be a text");
  if (text && !text->if_string()) return bad_field("parts", "the text of a part must be a text");
  return {};
}

Result<void> normalise_parts(Json& message) {
  if (const auto taken = take_content(message); !taken) return taken.error();
  Json* parts = message.find("parts");
  if (!parts || !parts->if_array() || parts->if_array()->empty()) {
    return bad_field("parts", "message.parts must be a list with at least one part");
  }
  for (Json& part : *parts->if_array()) {
    if (const auto normal = normalise_part(part); !normal) return normal.error();
  }
  return {};
}

// Adds the JSON-RPC 2.0 members. The id is the one that an answer would have.
Result<void> wrap(Json& request, const std::string& message_id) {
  const Json* version = given(request, "jsonrpc");
  if (version && !version->if_string()) return bad_field("jsonrpc", "jsonrpc must be a text");
  const Json* id = given(request, "id");
  if (id && !id->if_string() && !id->if_number()) return bad_field("id", "id must be a text or a number");
  if (!version) request.set("jsonrpc", Json::string("2.0"));
  if (!request.find("id")) request.set("id", Json::string(message_id));
  return {};
}

std::string first_text(const Json& message) {
  for (const Json& part : *message.find("parts")->if_array()) {
    const Json* text = part.find("text");
    if (text && text->if_string()) return *text->if_string();
  }
  return "message";
}

std::string_view event_of(const NewInboxRow& row) {
  if (row.method == "notify") return "message_to_people";
  return row.activity_type == "a2a_send" ? "message_pushed" : "message_queued";
}

void publish_and_log(EventBus& event_bus, Log& log, WorkspaceId workspace, const NewInboxRow& row, const Appended& at) {
  if (at.repeated) return;
  event_bus.appended(workspace, at);
  log.info(event_of(row), {{"workspace_id", workspace.text()},
                           {"activity_id", at.id.text()},
                           {"status", row.status},
                           {"reason", row.error_detail},
                           {"duration_ms", row.duration_ms.value_or(0)}});
}

}  // namespace

Result<Envelope> normalise_message(Json request, Time now) {
  if (!request.if_object()) return Error(errors::bad_json).with_sentence("the body must be a JSON object");
  const Json* method = request.find("method");
  if (!method || !method->if_string() || *method->if_string() != "message/send") {
    return bad_field("method", "method must be \"message/send\"");
  }
  std::vector<std::string> ignored = remove_reserved_members(request);
  Json* params = request.find("params");
  Json* message = params ? params->find("message") : nullptr;
  if (!message || !message->if_object()) return bad_field("params", "params.message must be an object");
  const auto parts = normalise_parts(*message);
  if (!parts) return parts.error();
  const Json* id = given(*message, "messageId");
  if (id && !id->if_string()) return bad_field("messageId", "message.messageId must be a text");
  if (!id || id->if_string()->empty()) message->set("messageId", Json::string(Uuid::make(now).text()));
  const Json* role = given(*message, "role");
  if (role && !role->if_string()) return bad_field("role", "message.role must be a text");
  if (!role || role->if_string()->empty()) message->set("role", Json::string("user"));
  const std::string message_id = *message->find("messageId")->if_string();
  if (const auto wrapped = wrap(request, message_id); !wrapped) return wrapped.error();
  return Envelope{std::move(request), message_id, std::move(ignored)};
}

NewInboxRow message_row(const Principal& caller, WorkspaceId target, const Envelope& envelope,
                        std::string traceparent) {
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  if (caller.role == Principal::Role::workspace) row.source_id = caller.workspace_id;
  if (caller.role == Principal::Role::sender && caller.token_id) {
    row.sent_by = caller.own_token()->text();
  }
  row.target_id = target;
  row.summary = cut_utf8(first_text(*envelope.json.find("params")->find("message")), kSummaryBytes);
  row.request_body = envelope.json.dump();
  row.content = canonical_text(*envelope.json.find("params"));
  row.message_id = envelope.message_id;
  row.traceparent = std::move(traceparent);
  row.ignored = envelope.ignored;
  return row;
}

NewInboxRow notify_row(WorkspaceId workspace, const std::string& text, const Json::Array& parts) {
  Json response = Json::object({{"result", Json::string(text)}});
  if (!parts.empty()) response.set("parts", Json::array(parts));
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "notify";
  row.target_id = workspace;
  row.summary = cut_utf8(text, kSummaryBytes);
  row.response_body = response.dump();
  return row;
}

void Messages::announce(WorkspaceId workspace, const NewInboxRow& row, const Appended& at) {
  publish_and_log(event_bus_, log_, workspace, row, at);
}

Commit<Result<Appended>> Messages::post(WorkspaceId workspace, const NewInboxRow& row, OptionalClaim<Appended> claim) {
  auto commit = store_.append_to_inbox(workspace, row, clock_.now(), std::move(claim));
  commit.then([&event_bus = event_bus_, &log = log_, workspace, row](const Result<Appended>& at) {
    if (at) publish_and_log(event_bus, log, workspace, row, *at);
  });
  return commit;
}

}  // namespace restante::desk
