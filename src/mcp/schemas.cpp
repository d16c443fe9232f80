#include "mcp/tools.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/json_writer.h"

namespace restante::mcp {
namespace {

constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kWhole = R"({"type":"integer"})";
constexpr std::string_view kFlag = R"({"type":"boolean"})";

using Names = std::initializer_list<std::string_view>;
struct Property {
  std::string_view name;
  std::string schema;
};

std::string described(std::string_view type, std::string_view description) {
  return json_object([&](JsonWriter& out) {
    out.member("type", type);
    out.member("description", description);
  });
}

std::string one_of(Names values) {
  return json_object([&](JsonWriter& out) {
    out.member("type", "string");
    out.array("enum", values, [&](std::string_view value) { out.string(value); });
  });
}

std::string list_of(std::string_view items) { return R"({"type":"array","items":)" + std::string(items) + "}"; }

enum class Null { not_allowed, allowed };

std::string object(std::initializer_list<Property> properties, Names required, Null null = Null::not_allowed) {
  return json_object([&](JsonWriter& out) {
    out.raw_member("type", null == Null::allowed ? R"(["object","null"])" : R"("object")");
    out.object("properties", [&] {
      for (const auto& property : properties) out.raw_member(property.name, property.schema);
    });
    out.array("required", required, [&](std::string_view name) { out.string(name); });
  });
}

Property text(std::string_view name) { return {name, std::string(kText)}; }
Property whole(std::string_view name) { return {name, std::string(kWhole)}; }
Property flag(std::string_view name) { return {name, std::string(kFlag)}; }

std::string file() {
  return object({text("name"),
                 whole("size"),
                 text("sha256"),
                 {"path", described("string", "the file's path on this machine; absent when it has not landed")},
                 text("uri"),
                 {"state", described("string", "landed: the file is on this machine; sent: this agent sent it")},
                 text("reason")},
                {"name", "state", "uri"});
}

std::string message(Null null) {
  return object({{"type", one_of({"message", "result", "file"})},
                 text("id"),
                 {"from", one_of({"person", "agent"})},
                 {"source_id", described("string", "the workspace of the agent that wrote")},
                 {"source_name", described("string", "the name of that agent")},
                 text("created_at"),
                 text("text"),
                 {"files", list_of(file())},
                 text("delegation_id"),
                 text("status"),
                 {"again", described("boolean", "it may have been handed over once before")},
                 {"late", described("boolean", "the result of a task that had been given up")}},
                {"type", "id", "from", "created_at", "text", "files"}, null);
}

std::string outgoing_file() {
  return object({text("name"), text("uri"), text("sha256"), whole("size")}, {"name", "size"});
}

std::string peer() {
  return object({text("id"), text("name"), text("role"), text("status"), text("delivery_mode")}, {"id"});
}

std::string entry() {
  return object(
      {text("id"), {"role", one_of({"user", "agent"})}, text("content"), text("timestamp"), {"files", list_of(file())}},
      {"id", "role", "content", "timestamp", "files"});
}

}  // namespace

std::string message_schema() {
  return object({{"message", message(Null::allowed)}, {"waiting", described("integer", "how many more wait")}},
                {"message", "waiting"});
}

std::string messages_schema() {
  return object({{"messages", list_of(message(Null::not_allowed))}, whole("waiting")}, {"messages", "waiting"});
}

std::string files_schema() { return object({{"files", list_of(file())}, whole("total")}, {"files", "total"}); }

std::string sent_schema() { return object({text("status"), {"files", list_of(outgoing_file())}}, {"status", "files"}); }

std::string task_schema() {
  return object(
      {text("delegation_id"),
       {"status", described("string", "delegated, queued, dispatched, in_progress, completed, failed or stuck")},
       text("target_id"),
       text("result"),
       text("error"),
       {"files", list_of(file())}},
      {"delegation_id", "status", "files"});
}

std::string peers_schema() { return object({{"peers", list_of(peer())}}, {"peers"}); }

std::string info_schema() {
  return object({text("id"),
                 text("name"),
                 text("role"),
                 text("parent_id"),
                 text("status"),
                 text("delivery_mode"),
                 text("current_task"),
                 text("server"),
                 text("files_folder"),
                 {"send_folders", list_of(kText)},
                 whole("waiting"),
                 flag("connected")},
                {"id", "server", "waiting", "connected"});
}

std::string history_schema() {
  return object({{"messages", list_of(entry())}, flag("reached_end")}, {"messages", "reached_end"});
}

}  // namespace restante::mcp
