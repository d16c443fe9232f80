// The functions of the tools, by subject, and the JSON Schemas of their answers; tools.cpp describes the tools. A
// schema is a pure function; render.h and the tools write JSON that fits.
#pragma once
#include <string>
#include <vector>

#include "mcp/tool.h"
#include "mcp/tool_context.h"

namespace restante::mcp {

RunTool wait_for_message, inbox_peek, inbox_pop, list_files;                                        // inbox_tools.cpp
RunTool send_message_to_user, send_message_to_agent, chat_history, get_workspace_info, list_peers;  // chat_tools.cpp
RunTool delegate_task, delegate_task_async, check_task_status, complete_task;                       // task_tools.cpp

// Stages local files as outgoing ones, with progress, if all of them may be sent. A failure contains the file that
// cannot be sent.
client::Outcome<std::vector<Json>> send_files(ToolContext& context, agent::ApiClient& api, Call& call,
                                              const std::vector<std::string>& paths);
// The peer's id: `meant` itself if it is an id, otherwise the one peer of that name.
client::Outcome<std::string> find_peer(agent::ApiClient& api, const std::string& meant);
// "a.pdf, 12 bytes, sha256 …" for each that was sent.
std::string describe_sent(const std::vector<Json>& files);
void write_sent(JsonWriter& out, const std::vector<Json>& files);

// schemas.cpp
std::string message_schema();   // one message or none, and how many more wait
std::string messages_schema();  // a list of them
std::string files_schema();
std::string sent_schema();
std::string task_schema();
std::string peers_schema();
std::string info_schema();
std::string history_schema();

}  // namespace restante::mcp
