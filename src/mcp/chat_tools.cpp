#include <fmt/format.h>

#include <filesystem>

#include "agent/members.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "mcp/render.h"
#include "mcp/tools.h"

namespace restante::mcp {
namespace {

using agent::list_of;
using agent::number_of;
using agent::text_of;

// Copies the members that are non-empty text.
void copy_texts(JsonWriter& out, const Json& from, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto text = text_of(from, name); !text.empty()) out.member(name, text);
  }
}

std::string describe_peer(const Json& peer) {
  auto line = fmt::format("- {} ({}), {}", text_of(peer, "name"), text_of(peer, "id"), text_of(peer, "status"));
  if (const auto role = text_of(peer, "role"); !role.empty()) line += ": " + role;
  return line;
}

// The files of a chat entry: received ones with their local path, those of this agent as sent.
std::vector<agent::DeliveredFile> files_of(const Json& entry, const std::vector<agent::FileRecord>& known) {
  std::vector<agent::DeliveredFile> files;
  for (const Json& attachment : list_of(entry, "attachments")) {
    files.push_back(file_of(attachment, known));
    if (text_of(entry, "role") == "agent" && files.back().state == "unknown") files.back().state = "sent";
  }
  return files;
}

std::string describe_entry(const Json& entry, const std::vector<agent::DeliveredFile>& files) {
  auto text = fmt::format("[{}] {}: {}", text_of(entry, "timestamp"),
                          text_of(entry, "role") == "user" ? "person" : "agent", text_of(entry, "content"));
  for (const auto& file : files) text += "\n" + describe(file);
  return text;
}

void write_entry(JsonWriter& out, const Json& entry, const std::vector<agent::DeliveredFile>& files) {
  out.begin_object();
  out.member("id", text_of(entry, "id"));
  out.member("role", text_of(entry, "role"));
  out.member("content", text_of(entry, "content"));
  out.member("timestamp", text_of(entry, "timestamp"));
  out.key("files");
  out.begin_array();
  for (const auto& file : files) write_file(out, file);
  out.end_array();
  out.end_object();
}

// The beginning of the paths of landed files.
std::string files_folder(const agent::Settings& settings) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto absolute = fs::absolute(settings.dir, error);
  const auto root = fs::weakly_canonical(absolute, error);
  return (error ? absolute : root).string();
}

}  // namespace

client::Outcome<std::vector<Json>> send_files(agent::ApiClient& api, Call& call,
                                              const std::vector<std::string>& paths) {
  return api.stage_files(paths, [&](std::uint64_t done, std::uint64_t all) {
    call.progress(static_cast<double>(done), static_cast<double>(all), "sending files");
    return !call.cancelled();
  });
}

std::string describe_sent(const std::vector<Json>& files) {
  std::string text;
  for (const Json& file : files) {
    text += fmt::format("\n- {}, {} bytes", text_of(file, "name"), number_of(file, "size"));
    if (const auto sha256 = text_of(file, "sha256"); !sha256.empty()) text += ", sha256 " + sha256;
  }
  return text;
}

void write_sent(JsonWriter& out, const std::vector<Json>& files) {
  out.key("files");
  out.begin_array();
  for (const Json& file : files) {
    out.begin_object();
    copy_texts(out, file, {"name", "uri", "sha256"});
    out.member("size", number_of(file, "size"));
    out.end_object();
  }
  out.end_array();
}

ToolResult send_message_to_user(ToolContext& context, Call& call, const Arguments& arguments) {
  if (const auto why = context.connection_problem(); !why.empty()) return failure(why);
  ToolContext::ClientLease api(context, call);
  const auto files = send_files(*api, call, arguments.paths("attachments"));
  if (files.has_error()) return failure(files.error());
  const auto sent = api->notify(arguments.text("message"), *files, fresh_key());
  if (sent.has_error()) return failure(sent.error());
  ToolResult answer;
  answer.text = "Sent to the person." + describe_sent(*files);
  JsonWriter out;
  out.begin_object();
  out.member("status", "sent");
  write_sent(out, *files);
  out.end_object();
  answer.structured = out.take();
  return answer;
}

ToolResult chat_history(ToolContext& context, Call& call, const Arguments& arguments) {
  if (const auto why = context.connection_problem(); !why.empty()) return failure(why);
  ToolContext::ClientLease api(context, call);
  const auto page = api->history(arguments.whole("limit"), arguments.text("before"));
  if (page.has_error()) return failure(page.error());
  const auto& messages = list_of(*page, "messages");
  ToolResult answer;
  JsonWriter out;
  out.begin_object();
  out.key("messages");
  out.begin_array();
  const auto known = context.agent().files();
  for (const Json& entry : messages) {
    const auto files = files_of(entry, known);
    write_entry(out, entry, files);
    answer.text += (answer.text.empty() ? "" : "\n") + describe_entry(entry, files);
  }
  out.end_array();
  const bool end = agent::flag_of(*page, "reached_end");
  out.key("reached_end");
  out.boolean(end);
  out.end_object();
  if (messages.empty()) answer.text = "There are no messages yet.";
  if (!end) answer.text += "\n(There is more before this: give the oldest timestamp as before.)";
  answer.structured = out.take();
  return answer;
}

ToolResult get_workspace_info(ToolContext& context, Call& call, const Arguments&) {
  if (const auto why = context.connection_problem(); !why.empty()) return failure(why);
  ToolContext::ClientLease api(context, call);
  const auto info = api->describe();
  if (info.has_error()) return failure(info.error());
  const auto& settings = context.agent().settings();
  const auto folder = files_folder(settings);
  const auto status = context.agent().connection_status();
  const auto waiting = context.agent().waiting().size();
  JsonWriter out;
  out.begin_object();
  copy_texts(out, *info, {"id", "name", "role", "parent_id", "status", "delivery_mode", "current_task"});
  out.member("server", settings.server.text());
  out.member("files_folder", folder);
  out.member("waiting", static_cast<std::int64_t>(waiting));
  out.key("connected");
  out.boolean(status.trouble.empty());
  out.end_object();
  ToolResult answer;
  answer.text =
      fmt::format("Workspace {} ({}), {}, on {}. Files land below {}. {} in the inbox.", text_of(*info, "name"),
                  text_of(*info, "id"), text_of(*info, "status"), settings.server.text(), folder, waiting);
  if (const auto role = text_of(*info, "role"); !role.empty()) answer.text += " Its role: " + role + ".";
  answer.structured = out.take();
  return answer;
}

ToolResult list_peers(ToolContext& context, Call& call, const Arguments&) {
  if (const auto why = context.connection_problem(); !why.empty()) return failure(why);
  ToolContext::ClientLease api(context, call);
  const auto peers = api->peers();
  if (peers.has_error()) return failure(peers.error());
  const auto& list = peers->if_array() ? *peers->if_array() : Json::Array();
  ToolResult answer;
  answer.text = list.empty() ? "There is no other agent that this one may talk to."
                             : "Agents that a task can be given to (delegate_task):";
  JsonWriter out;
  out.begin_object();
  out.key("peers");
  out.begin_array();
  for (const Json& peer : list) {
    out.begin_object();
    copy_texts(out, peer, {"id", "name", "role", "status", "delivery_mode"});
    out.end_object();
    answer.text += "\n" + describe_peer(peer);
  }
  out.end_array();
  out.end_object();
  answer.structured = out.take();
  return answer;
}

}  // namespace restante::mcp
