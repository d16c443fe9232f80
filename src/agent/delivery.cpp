#include "agent/delivery.h"

#include <algorithm>

#include "model/delegation.h"
#include "model/upload.h"

namespace restante::agent {
namespace {

constexpr std::string_view kResultMethod = "delegate_result";

// Calls `visit` for every part of every list of A2A parts, at any depth: in the message itself, its history, a task's
// artifacts. parse_json bounds the depth.
template <class Node, class Visit>
void each_part(Node& node, const Visit& visit) {
  if (auto* list = node.if_array()) {
    for (auto& entry : *list) each_part(entry, visit);
  } else if (auto* object = node.if_object()) {
    for (auto& [key, value] : *object) {
      if (auto* parts = key == "parts" ? value.if_array() : nullptr) {
        for (auto& part : *parts) visit(part);
      } else {
        each_part(value, visit);
      }
    }
  }
}

// The object with the uri: a part's `file`, as A2A has it.
template <class Node>
Node* file_of(Node& part) {
  auto* file = part.find("file");
  return file && file->find("uri") && file->find("uri")->if_string() ? file : nullptr;
}

std::string state_of(const FileRecord& file) {
  if (file.where == FileRecord::Where::landed) return "landed";
  if (!file.trouble.empty()) return file.trouble;
  switch (file.where) {
    case FileRecord::Where::waiting:
      return "missing";
    case FileRecord::Where::refused:
      return "failed";
    default:
      return "gone";
  }
}

DeliveredFile delivered(const FileRecord& record) {
  DeliveredFile file;
  file.name = record.announced.name;
  file.size = static_cast<std::int64_t>(record.announced.size);
  file.sha256 = record.announced.sha256;
  file.state = state_of(record);
  file.id = record.announced.id;
  const bool landed = record.where == FileRecord::Where::landed;
  if (landed) file.path = record.path;
  if (!landed) file.reason = record.reason;
  file.uri = landed ? "workspace:" + record.path : record.uri;
  return file;
}

DeliveredFile rewrite(Json& file, const State& state) {
  const auto uri = file.text("uri");
  const auto id = pending_file(uri);
  const auto* record = id ? state.find(*id) : nullptr;
  if (!record) {
    DeliveredFile other;
    other.name = file.text("name");
    other.uri = uri;
    const bool ours = uri.starts_with(kPendingScheme);
    other.state = ours ? "unknown" : "external";
    if (ours) file.set("state", Json::string(other.state));
    return other;
  }
  auto known = delivered(*record);
  file.set("uri", Json::string(known.uri));
  if (known.state != "landed") file.set("state", Json::string(known.state));
  return known;
}

}  // namespace

void write_file(JsonWriter& out, const DeliveredFile& file) {
  out.object([&] {
    out.member("name", file.name);
    out.member_if("size", file.size);
    out.member_if("sha256", file.sha256);
    out.member_if("path", file.path);
    out.member("uri", file.uri);
    out.member("state", file.state);
    out.member_if("reason", file.reason);
  });
}

void write_files(JsonWriter& out, const std::vector<DeliveredFile>& files) {
  out.array("files", files, [&](const DeliveredFile& file) { write_file(out, file); });
}

const Json& message_member(const Json& body, std::string_view name) {
  static const Json kNone;
  const auto* params = body.find("params");
  const auto* message = params ? params->find("message") : nullptr;
  const auto* member = message ? message->find(name) : nullptr;
  return member ? *member : kNone;
}

std::vector<std::string> file_uris(const Json& body) {
  std::vector<std::string> uris;
  each_part(body, [&](const Json& part) {
    if (const auto* file = file_of(part)) uris.push_back(file->text("uri"));
  });
  return uris;
}

bool is_task(const Delivery& delivery) {
  return !delivery.delegation_id.empty() && (delivery.type == "message" || delivery.type == "ended");
}

void forget_task(Delivery& delivery) {
  delivery.delegation_id.clear();
  Json* params = delivery.body.find("params");
  Json* message = params ? params->find("message") : nullptr;
  Json* metadata = message ? message->find("metadata") : nullptr;
  for (const char* member : {"delegation_id", "parent_delegation_id"}) {
    if (metadata) metadata->erase(member);
  }
}

std::string result_of(const ReceivedRow& row) {
  if (row.method != kResultMethod) return {};
  if (auto id = row.request_body.text("delegation_id"); !id.empty()) return id;
  return message_member(row.request_body, "metadata").text("delegation_id");
}

Delivery deliver_file(const FileRecord& file) {
  Delivery delivery;
  delivery.type = "file";
  // The report that a file did not arrive and the file itself are two deliveries.
  delivery.id = file.where == FileRecord::Where::landed ? file.row_id : file.row_id + "-" + state_of(file);
  delivery.seq = file.seq;
  delivery.method = "chat_upload_receive";
  delivery.created_at = file.created_at;
  delivery.files.push_back(delivered(file));
  return delivery;
}

Delivery deliver_message(ReceivedRow row, const State& state) {
  Delivery delivery;
  delivery.type = row.method == kResultMethod ? "result" : "message";
  delivery.id = row.id;
  delivery.seq = row.seq;
  delivery.method = row.method;
  delivery.source_id = row.source_id;
  delivery.created_at = row.created_at;
  each_part(row.request_body, [&](Json& part) {
    if (auto* file = file_of(part)) delivery.files.push_back(rewrite(*file, state));
    const auto text = part.text("text");
    if (text.empty()) return;
    if (!delivery.text.empty()) delivery.text += '\n';
    delivery.text += text;
  });
  const auto& metadata = message_member(row.request_body, "metadata");
  auto task = metadata.text("delegation_id");
  delivery.hops = std::max<std::int64_t>(0, metadata.whole(kHopsMember));
  if (delivery.type == "result") {
    delivery.delegation_id = result_of(row);
    delivery.status = row.status;
  }
  delivery.body = std::move(row.request_body);
  if (delivery.type == "result") return delivery;
  // A task comes from an agent; the server sets the source.
  if (delivery.source_id && is_delegation_id(task)) {
    delivery.delegation_id = std::move(task);
  } else {
    forget_task(delivery);
  }
  return delivery;
}

std::string Delivery::json() const {
  return json_object([&](JsonWriter& out) {
    out.member("type", type);
    out.member("id", id);
    out.member("seq", seq);
    out.member("method", method);
    out.member_or_null("source_id", source_id);
    out.member("created_at", created_at);
    out.member("text", text);
    out.member_if("delegation_id", delegation_id);
    out.member_if("status", status);
    out.member_if("reason", reason);
    out.flag("again", again);
    write_files(out, files);
    if (!body.is_null()) out.raw_member("body", body.dump());
  });
}

}  // namespace restante::agent
