// The JSON Schemas of the tools' answers; render.h and the tools write JSON that fits. Each schema is built once.
// Thread-safe.
#pragma once
#include <string>

namespace restante::mcp {

const std::string& message_schema();   // one message or none, and how many more wait
const std::string& messages_schema();  // a list of them
const std::string& files_schema();
const std::string& sent_schema();
const std::string& task_schema();
const std::string& peers_schema();
const std::string& info_schema();
const std::string& history_schema();

}  // namespace restante::mcp
