#include "mcp/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/file_part.h"
#include "model/upload.h"

namespace restante::mcp {
namespace {

using agent::DeliveredFile;
using agent::Delivery;

// The content of a message's parts that are neither text nor file.
std::string data_of(const Json& body) {
  std::string found;
  const Json& parts = agent::message_member(body, "parts");
  for (const Json& part : parts.if_array() ? *parts.if_array() : Json::Array()) {
    if (const Json* data = part.find("data")) found += (found.empty() ? "" : "\n") + data->dump();
  }
  return found;
}

std::string text_of(const Delivery& delivery) {
  const auto data = data_of(delivery.body);
  if (data.empty()) return delivery.text;
  return delivery.text.empty() ? data : delivery.text + "\n" + data;
}

// True for the result of a task that had been given up.
bool is_late(const Delivery& delivery) { return delivery.body.flag("late"); }

std::string heading(const Delivery& delivery, const std::string& name) {
  const auto id = delivery.source_id.value_or("");
  const auto agent = name.empty() ? "agent " + id : fmt::format("agent {} ({})", name, id);
  const auto who = delivery.source_id ? agent : std::string("the person");
  if (delivery.type == "file") return "A file from " + who;
  if (delivery.type == "result") {
    return fmt::format("The result of task {} ({}{}) from {}", delivery.delegation_id,
                       delivery.status == "error" ? "it failed" : "done",
                       is_late(delivery) ? ", late: the task had ended before" : "", who);
  }
  if (!delivery.delegation_id.empty()) return fmt::format("Task {} from {}", delivery.delegation_id, who);
  return "A message from " + who;
}

}  // namespace

std::string describe(const DeliveredFile& file) {
  auto line = "- " + file.name;
  if (file.size) line += fmt::format(", {} bytes", *file.size);
  if (!file.sha256.empty()) line += ", sha256 " + file.sha256;
  if (!file.path.empty()) return line + ", at " + file.path;
  if (file.state == "external") return line + ", at " + file.uri;
  if (file.state == "sent") return line + ", sent by this agent";
  line += ", not here: " + file.state;
  return file.reason.empty() ? line : line + " (" + file.reason + ")";
}

std::string describe(const Delivery& delivery, const std::string& name) {
  auto text = fmt::format("{} (id {}, {})", heading(delivery, name), delivery.id, delivery.created_at);
  if (delivery.again) text += "\nIt may have been handed over once before; compare the id.";
  if (const auto content = text_of(delivery); !content.empty()) text += ":\n" + content;
  if (!delivery.files.empty() && delivery.type != "file") text += "\nFiles:";
  for (const auto& file : delivery.files) text += "\n" + describe(file);
  if (delivery.type == "message" && !delivery.delegation_id.empty())
    text += "\nWhen it is done, or cannot be done, report that with complete_task.";
  if (delivery.type == "message" && delivery.delegation_id.empty() && delivery.source_id)
    text += "\nAnswer this agent with send_message_to_agent; the person does not see it.";
  return text;
}

DeliveredFile file_of(const Json& attachment, const std::vector<agent::FileRecord>& known) {
  const FilePart part = read_file_part(attachment);
  const auto id = agent::pending_file(part.uri);
  const auto record = std::ranges::find_if(known, [&](const agent::FileRecord& one) { return one.announced.id == id; });
  if (id && record != known.end()) return agent::deliver_file(*record).files.front();
  DeliveredFile file;
  file.name = part.name;
  file.size = part.size;
  file.uri = part.uri;
  file.state = part.uri.starts_with(kPendingScheme) ? "unknown" : "external";
  return file;
}

void write_delivery(JsonWriter& out, const Delivery& delivery, const std::string& name) {
  out.object([&] {
    out.member("type", delivery.type);
    out.member("id", delivery.id);
    out.member("from", delivery.source_id ? "agent" : "person");
    out.member_if("source_id", delivery.source_id);
    out.member_if("source_name", name);
    out.member("created_at", delivery.created_at);
    out.member("text", text_of(delivery));
    write_files(out, delivery.files);
    out.member_if("delegation_id", delivery.delegation_id);
    out.member_if("status", delivery.status);
    out.flag("again", delivery.again);
    out.flag("late", is_late(delivery));
  });
}

}  // namespace restante::mcp
