// The functions of the tools, by subject; tools.cpp describes them.
#pragma once
#include "mcp/tool.h"
#include "mcp/tool_context.h"

namespace restante::mcp {

RunTool wait_for_message, inbox_peek, inbox_pop, list_files;                   // inbox_tools.cpp
RunTool send_message_to_user, chat_history, get_workspace_info, list_peers;    // chat_tools.cpp
RunTool delegate_task, delegate_task_async, check_task_status, complete_task;  // task_tools.cpp

// Stages local files as outgoing ones, with progress. A failure contains the file that cannot be sent.
client::Outcome<std::vector<Json>> send_files(agent::ApiClient& api, Call& call, const std::vector<std::string>& paths);
// "a.pdf, 12 bytes, sha256 …" for each that was sent.
std::string describe_sent(const std::vector<Json>& files);
void write_sent(JsonWriter& out, const std::vector<Json>& files);

}  // namespace restante::mcp
