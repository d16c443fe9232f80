#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "mcp/render.h"
#include "mcp/tools.h"

namespace restante::mcp {
namespace {

// Copies the members that are non-empty text.
void copy_texts(JsonWriter& out, const Json& from, std::initializer_list<const char*> names) {
  for (const char* name : names) out.member_if(name, from.text(name));
}

std::string describe_peer(const Json& peer) {
  auto line = fmt::format("- {} ({}), {}", peer.text("name"), peer.text("id"), peer.text("status"));
  if (const auto role = peer.text("role"); !role.empty()) line += ": " + role;
  return line;
}

// The files of a chat entry: received ones with their local path, those of this agent as sent.
std::vector<agent::DeliveredFile> files_of(const Json& entry, const std::vector<agent::FileRecord>& known) {
  std::vector<agent::DeliveredFile> files;
  for (const Json& attachment : entry.items("attachments")) {
    files.push_back(file_of(attachment, known));
    if (entry.text("role") == "agent" && files.back().state == "unknown") files.back().state = "sent";
  }
  return files;
}

std::string describe_entry(const Json& entry, const std::vector<agent::DeliveredFile>& files) {
  auto text = fmt::format("[{}] {}: {}", entry.text("timestamp"), entry.text("role") == "user" ? "person" : "agent",
                          entry.text("content"));
  for (const auto& file : files) text += "\n" + describe(file);
  return text;
}

void write_entry(JsonWriter& out, const Json& entry, const std::vector<agent::DeliveredFile>& files) {
  for (const char* name : {"id", "role", "content", "timestamp"}) out.member(name, entry.text(name));
  write_files(out, files);
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

client::Outcome<std::vector<Json>> send_files(ToolContext& context, agent::ApiClient& api, Call& call,
                                              const std::vector<std::string>& paths) {
  const auto allowed = check_attachments(context.attachments(), paths);
  if (allowed.has_error()) return allowed.error();
  return api.stage_files(*allowed, [&](std::uint64_t done, std::uint64_t all) {
    call.progress(static_cast<double>(done), static_cast<double>(all), "sending files");
    return !call.cancelled();
  });
}

std::string describe_sent(const std::vector<Json>& files) {
  std::string text;
  for (const Json& file : files) {
    text += fmt::format("\n- {}, {} bytes", file.text("name"), file.whole("size"));
    if (const auto sha256 = file.text("sha256"); !sha256.empty()) text += ", sha256 " + sha256;
  }
  return text;
}

void write_sent(JsonWriter& out, const std::vector<Json>& files) {
  out.objects("files", files, [&](const Json& file) {
    copy_texts(out, file, {"name", "uri", "sha256"});
    out.member("size", file.whole("size"));
  });
}

ToolResult send_message_to_user(ToolContext& context, Call& call, const Arguments& arguments) {
  ToolContext::ClientLease api(context, call);
  const auto files = send_files(context, *api, call, arguments.paths("attachments"));
  if (files.has_error()) return failure(files.error());
  const auto sent = api->notify(arguments.text("message"), *files, fresh_key());
  if (sent.has_error()) return failure(sent.error());
  return {"Sent to the person." + describe_sent(*files), json_object([&](JsonWriter& out) {
            out.member("status", "sent");
            write_sent(out, *files);
          })};
}

ToolResult send_message_to_agent(ToolContext& context, Call& call, const Arguments& arguments) {
  ToolContext::ClientLease api(context, call);
  const auto target = find_peer(*api, arguments.text("target"));
  if (target.has_error()) return failure(target.error());
  const auto hops = context.agent().next_hop_to(*target);
  if (!hops) {
    return failure(
        fmt::format("Not sent: {} automatic answers in a row between two agents are enough. Tell the person "
                    "with send_message_to_user, or wait for a new message.",
                    agent::kMostHops));
  }
  const auto files = send_files(context, *api, call, arguments.paths("attachments"));
  if (files.has_error()) return failure(files.error());
  const auto sent = api->message(*target, arguments.text("message"), *hops, fresh_key(), *files);
  if (sent.has_error()) return failure(sent.error());
  return {fmt::format("Sent to agent {}. An answer comes as a message.", *target) + describe_sent(*files),
          json_object([&](JsonWriter& out) {
            out.member("status", "sent");
            write_sent(out, *files);
          })};
}

ToolResult chat_history(ToolContext& context, Call& call, const Arguments& arguments) {
  ToolContext::ClientLease api(context, call);
  const auto page = api->history(arguments.whole("limit"), arguments.text("before"));
  if (page.has_error()) return failure(page.error());
  const auto& messages = page->items("messages");
  const bool end = page->flag("reached_end");
  const auto known = context.agent().files();
  ToolResult answer;
  answer.structured = json_object([&](JsonWriter& out) {
    out.objects("messages", messages, [&](const Json& entry) {
      const auto files = files_of(entry, known);
      write_entry(out, entry, files);
      answer.text += (answer.text.empty() ? "" : "\n") + describe_entry(entry, files);
    });
    out.member("reached_end", end);
  });
  if (messages.empty()) answer.text = "There are no messages yet.";
  if (!end) answer.text += "\n(There is more before this: give the oldest timestamp as before.)";
  return answer;
}

ToolResult get_workspace_info(ToolContext& context, Call& call, const Arguments&) {
  ToolContext::ClientLease api(context, call);
  const auto info = api->describe();
  if (info.has_error()) return failure(info.error());
  const auto& settings = context.agent().settings();
  const auto folder = files_folder(settings);
  const auto status = context.agent().connection_status();
  const auto waiting = context.agent().waiting().size();
  const auto& send_folders = context.attachments().allowed;
  auto text =
      fmt::format("Workspace {} ({}), {}, on {}. Files land below {}. Files may be sent from {}. {} in the inbox.",
                  info->text("name"), info->text("id"), info->text("status"), settings.server.text(), folder,
                  fmt::join(send_folders, ", "), waiting);
  if (const auto role = info->text("role"); !role.empty()) text += " Its role: " + role + ".";
  return {std::move(text), json_object([&](JsonWriter& out) {
            copy_texts(out, *info, {"id", "name", "role", "parent_id", "status", "delivery_mode", "current_task"});
            out.member("server", settings.server.text());
            out.member("files_folder", folder);
            out.array("send_folders", send_folders, [&](const std::string& one) { out.string(one); });
            out.member("waiting", static_cast<std::int64_t>(waiting));
            out.member("connected", status.trouble.empty());
          })};
}

ToolResult list_peers(ToolContext& context, Call& call, const Arguments&) {
  ToolContext::ClientLease api(context, call);
  const auto peers = api->peers();
  if (peers.has_error()) return failure(peers.error());
  ToolResult answer;
  answer.text = peers->empty() ? "There is no other agent that this one may talk to."
                               : "Agents that a task can be given to (delegate_task):";
  answer.structured = json_object([&](JsonWriter& out) {
    out.objects("peers", *peers, [&](const Json& peer) {
      copy_texts(out, peer, {"id", "name", "role", "status", "delivery_mode"});
      answer.text += "\n" + describe_peer(peer);
    });
  });
  return answer;
}

}  // namespace restante::mcp
