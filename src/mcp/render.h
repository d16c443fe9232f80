// How deliveries and files are told to a model: as text with one line for each file (name, size, sha256, local path),
// never their bytes, and as JSON that fits the output schemas of the tools (schemas.h). Pure functions.
#pragma once
#include <string>
#include <vector>

#include "agent/delivery.h"
#include "agent/state.h"
#include "base/json_writer.h"

namespace restante::mcp {

// "- a.pdf, 48213 bytes, sha256 …, at /path", or why it is not there.
std::string describe(const agent::DeliveredFile& file);
std::string describe(const agent::Delivery& delivery);

// A file as the server tells of it, {uri, name, size}, as this agent knows it, if it does.
agent::DeliveredFile file_of(const Json& attachment, const std::vector<agent::FileRecord>& known);
void write_file(JsonWriter& out, const agent::DeliveredFile& file);
void write_delivery(JsonWriter& out, const agent::Delivery& delivery);

}  // namespace restante::mcp
