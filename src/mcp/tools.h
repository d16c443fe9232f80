// The functions of the tools, by subject; tools.cpp describes them. All block until they are done. A cancelled call
// ends early, and its answer is discarded.
#pragma once
#include "mcp/tool.h"
#include "mcp/tool_context.h"

namespace restante::mcp {

// inbox_tools.cpp
ToolResult wait_for_message(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult inbox_peek(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult inbox_pop(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult list_files(ToolContext& context, Call& call, const Arguments& arguments);

// chat_tools.cpp
ToolResult send_message_to_user(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult chat_history(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult get_workspace_info(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult list_peers(ToolContext& context, Call& call, const Arguments& arguments);

// task_tools.cpp
ToolResult delegate_task(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult delegate_task_async(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult check_task_status(ToolContext& context, Call& call, const Arguments& arguments);
ToolResult complete_task(ToolContext& context, Call& call, const Arguments& arguments);

// Stages local files as outgoing ones, with progress. A failure contains the file that cannot be sent.
client::Outcome<std::vector<Json>> send_files(agent::ApiClient& api, Call& call, const std::vector<std::string>& paths);
// "a.pdf, 12 bytes, sha256 …" for each that was sent.
std::string describe_sent(const std::vector<Json>& files);
void write_sent(JsonWriter& out, const std::vector<Json>& files);

}  // namespace restante::mcp
