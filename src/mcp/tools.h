// The tools, by what they are about: each function is one, described in tools.cpp. All block until they are done; a
// cancelled call ends early, and its answer goes nowhere.
#pragma once
#include "mcp/office.h"
#include "mcp/tool.h"

namespace restante::mcp {

// inbox_tools.cpp
Answer wait_for_message(Office& office, Call& call, const Arguments& arguments);
Answer inbox_peek(Office& office, Call& call, const Arguments& arguments);
Answer inbox_pop(Office& office, Call& call, const Arguments& arguments);
Answer list_files(Office& office, Call& call, const Arguments& arguments);

// chat_tools.cpp
Answer send_message_to_user(Office& office, Call& call, const Arguments& arguments);
Answer chat_history(Office& office, Call& call, const Arguments& arguments);
Answer get_workspace_info(Office& office, Call& call, const Arguments& arguments);
Answer list_peers(Office& office, Call& call, const Arguments& arguments);

// task_tools.cpp
Answer delegate_task(Office& office, Call& call, const Arguments& arguments);
Answer delegate_task_async(Office& office, Call& call, const Arguments& arguments);
Answer check_task_status(Office& office, Call& call, const Arguments& arguments);
Answer complete_task(Office& office, Call& call, const Arguments& arguments);

// Files of this machine, staged as outgoing ones, with progress. A failure says which cannot be sent.
client::Outcome<std::vector<Json>> send_files(agent::Platform& platform, Call& call,
                                              const std::vector<std::string>& paths);
// "a.pdf, 12 bytes, sha256 …" for each that was sent.
std::string describe_sent(const std::vector<Json>& files);
void write_sent(JsonWriter& out, const std::vector<Json>& files);

}  // namespace restante::mcp
