#include "mcp/schemas.h"

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
  JsonWriter out;
  out.begin_object();
  out.member("type", type);
  out.member("description", description);
  out.end_object();
  return out.take();
}

std::string one_of(Names values) {
  JsonWriter out;
  out.begin_object();
  out.member("type", "string");
  out.key("enum");
  out.begin_array();
  for (const auto value : values) out.string(value);
  out.end_array();
  out.end_object();
  return out.take();
}

std::string list_of(std::string_view items) { return R"({"type":"array","items":)" + std::string(items) + "}"; }

enum class Null { not_allowed, allowed };

std::string object(std::initializer_list<Property> properties, Names required, Null null = Null::not_allowed) {
  JsonWriter out;
  out.begin_object();
  out.key("type");
  out.raw(null == Null::allowed ? R"(["object","null"])" : R"("object")");
  out.key("properties");
  out.begin_object();
  for (const auto& property : properties) {
    out.key(property.name);
    out.raw(property.schema);
  }
  out.end_object();
  out.key("required");
  out.begin_array();
  for (const auto name : required) out.string(name);
  out.end_array();
  out.end_object();
  return out.take();
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

const std::string& message_schema() {
  static const std::string schema =
      object({{"message", message(Null::allowed)}, {"waiting", described("integer", "how many more wait")}},
             {"message", "waiting"});
  return schema;
}

const std::string& messages_schema() {
  static const std::string schema =
      object({{"messages", list_of(message(Null::not_allowed))}, whole("waiting")}, {"messages", "waiting"});
  return schema;
}

const std::string& files_schema() {
  static const std::string schema = object({{"files", list_of(file())}, whole("total")}, {"files", "total"});
  return schema;
}

const std::string& sent_schema() {
  static const std::string schema = object({text("status"), {"files", list_of(outgoing_file())}}, {"status", "files"});
  return schema;
}

const std::string& task_schema() {
  static const std::string schema =
      object({text("delegation_id"),
              {"status", described("string", "delegated, queued, dispatched, in_progress, completed, failed or stuck")},
              text("target_id"),
              text("result"),
              text("error"),
              {"files", list_of(file())}},
             {"delegation_id", "status", "files"});
  return schema;
}

const std::string& peers_schema() {
  static const std::string schema = object({{"peers", list_of(peer())}}, {"peers"});
  return schema;
}

const std::string& info_schema() {
  static const std::string schema =
      object({text("id"), text("name"), text("role"), text("parent_id"), text("status"), text("delivery_mode"),
              text("current_task"), text("server"), text("files_folder"), whole("waiting"), flag("connected")},
             {"id", "server", "waiting", "connected"});
  return schema;
}

const std::string& history_schema() {
  static const std::string schema =
      object({{"messages", list_of(entry())}, flag("reached_end")}, {"messages", "reached_end"});
  return schema;
}

}  // namespace restante::mcp
