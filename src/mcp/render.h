// Renders deliveries and files for a model: as text with one line for each file (name, size, sha256, local path), never
// its content, and as JSON that fits the output schemas of the tools (schemas.cpp). Pure functions.
#pragma once
#include <string>
#include <vector>

#include "agent/delivery.h"
#include "agent/state.h"
#include "base/json_writer.h"

namespace restante::mcp {

// "- a.pdf, 48213 bytes, sha256 …, at /path", or the reason why it has not landed.
std::string describe(const agent::DeliveredFile& file);
// `name` is that of the sending agent; empty: a person, or not known.
std::string describe(const agent::Delivery& delivery, const std::string& name = {});

// A file that the server describes as {uri, name, size}, with what this agent knows of it, if anything.
agent::DeliveredFile file_of(const Json& attachment, const std::vector<agent::FileRecord>& known);
void write_delivery(JsonWriter& out, const agent::Delivery& delivery, const std::string& name = {});

}  // namespace restante::mcp
