// The JSON Schemas of the tools' answers; render.h and the tools write JSON that fits. Pure functions.
#pragma once
#include <string>

namespace restante::mcp {

std::string message_schema();   // one message or none, and how many more wait
std::string messages_schema();  // a list of them
std::string files_schema();
std::string sent_schema();
std::string task_schema();
std::string peers_schema();
std::string info_schema();
std::string history_schema();

}  // namespace restante::mcp
