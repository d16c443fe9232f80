#include "desk/events/event.h"

#include <span>

#include "base/json.h"
#include "base/json_writer.h"
#include "desk/inbox/message_content.h"

namespace restante::desk {
namespace {

struct Kind {
  std::string_view activity_type;
  std::string_view method;
  std::string_view event;
};

constexpr Kind kKinds[] = {
    {"a2a_receive", "notify", "AGENT_MESSAGE"},
    {"a2a_receive", "chat_upload_receive", "UPLOAD_STAGED"},
    {"upload_receipt", "chat_upload_acked", "UPLOAD_ACKED"},
    {"upload_receipt", "chat_upload_failed", "UPLOAD_FAILED"},
    {"upload_receipt", "chat_upload_expired", "UPLOAD_EXPIRED"},
    {"upload_receipt", "chat_upload_recalled", "UPLOAD_RECALLED"},
    {"delegation", "delegate", "DELEGATION_SENT"},
    {"delegation", "delegation_status", "DELEGATION_STATUS"},
    {"a2a_receive", "delegate_result", "DELEGATION_COMPLETE"},
};

// Members of an upload's row or receipt that are copied as they are.
constexpr std::string_view kFileFacts[] = {"file_id", "name",       "mimeType", "size",  "sha256",
                                           "uri",     "fetched_at", "acked_at", "reason"};

// The same for a delegation's rows.
constexpr std::string_view kTaskFacts[] = {
    "delegation_id", "status", "caller_id", "target_id", "deadline", "retry_of", "parent_delegation_id", "late"};

// A delegation ends once: a late answer is a change of status, not a second end.
std::string_view end_event_of(const InboxRow& row) {
  const auto body = parse_json(row.request_body);
  if (body && body->find("late")) return "DELEGATION_STATUS";
  return row.status == "ok" ? "DELEGATION_COMPLETE" : "DELEGATION_FAILED";
}

std::string_view kind_of(const InboxRow& row) {
  for (const Kind& kind : kKinds) {
    if (kind.activity_type != row.activity_type || kind.method != row.method) continue;
    return kind.event == "DELEGATION_COMPLETE" ? end_event_of(row) : kind.event;
  }
  return {};
}

// An object with the members that every row's events have, and those that `write` adds.
std::string object_of(const InboxRow& row, auto&& write) {
  return json_object([&](JsonWriter& out) {
    out.member("activity_id", row.id.text());
    out.member("seq", row.seq);
    out.member("workspace_id", row.workspace_id.text());
    out.member("created_at", row.created_at);
    write(out);
  });
}

std::string row_data(const InboxRow& row) {
  return object_of(row, [&](JsonWriter& out) {
    out.member("activity_type", row.activity_type);
    out.member_or_null("method", row.method);
    out.member_or_null("summary", row.summary);
    out.member_or_null("status", row.status);
    out.member_or_null("source_id", row.source_id ? row.source_id->text() : std::string());
    out.member_or_null("target_id", row.target_id ? row.target_id->text() : std::string());
  });
}

std::string agent_message(const InboxRow& row) {
  const MessageContent content = response_content(row);
  return object_of(row, [&](JsonWriter& out) {
    out.member("message", content.text);
    out.key("attachments");
    write_files(out, content.files);
  });
}

std::string facts_in(const InboxRow& row, std::span<const std::string_view> names) {
  const auto facts = parse_json(row.request_body);
  return object_of(row, [&](JsonWriter& out) {
    for (const std::string_view name : names) {
      const Json* fact = facts ? facts->find(name) : nullptr;
      if (fact) out.raw_member(name, fact->dump());
    }
  });
}

std::string data_of(std::string_view kind, const InboxRow& row) {
  if (kind == "AGENT_MESSAGE") return agent_message(row);
  return kind.starts_with("DELEGATION") ? facts_in(row, kTaskFacts) : facts_in(row, kFileFacts);
}

}  // namespace

std::vector<Event> events_of(const InboxRow& row) {
  std::vector<Event> events;
  const std::string_view kind = kind_of(row);
  if (!kind.empty()) events.push_back({std::string(kind), data_of(kind, row)});
  events.push_back({"ACTIVITY_LOGGED", row_data(row), row.seq});
  return events;
}

bool is_chat(const LiveEvent& item) {
  if (item.name.starts_with("WORKSPACE_")) return true;
  if (!item.name.starts_with("UPLOAD_")) return false;
  const auto data = parse_json(item.data);
  const Json* source = data ? data->find("source_id") : nullptr;
  return source && source->is_null();
}

Event event_of(const LiveEvent& item) {
  auto parsed = parse_json(item.data);
  Json data = parsed && parsed->if_object() ? std::move(*parsed) : Json::object();
  data.set("workspace_id", Json::string(item.workspace.text()));
  return {item.name, data.dump()};
}

Event resync(WorkspaceId workspace, std::int64_t head, std::int64_t position, bool replayed) {
  std::string data = json_object([&](JsonWriter& out) {
    out.member("workspace_id", workspace.text());
    out.member("seq", head);
    if (replayed) out.member("replayed_from", position);
  });
  return {"RESYNC", std::move(data), position};
}

Event resync_all() { return {"RESYNC", "{}"}; }

}  // namespace restante::desk
