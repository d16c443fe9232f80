// Tool: one tool of the MCP server as a value: its description, its parameters, its output schema, and the function
// that runs it. The JSON Schema and the check of the arguments use the same table. Pure, except running a tool.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "mcp/call.h"
#include "mcp/message.h"

namespace restante::mcp {

class ToolContext;

struct Param {
  enum class Type { text, whole, paths } type = Type::text;
  enum class Need { optional, required } need = Need::optional;
  std::string_view name;
  std::string_view description;
  std::int64_t least = 0, most = 0;  // of a whole number
  std::int64_t usual = 0;            // default of a whole number
};

// The arguments of a call, checked against the parameters.
class Arguments {
 public:
  Arguments(const Json& given, std::span<const Param> params) : given_(given), params_(params) {}
  std::string text(std::string_view name) const { return given_.text(name); }  // empty when it is not given
  std::int64_t whole(std::string_view name) const;
  std::vector<std::string> paths(std::string_view name) const;

 private:
  const Json& given_;
  std::span<const Param> params_;
};

struct ToolResult {
  std::string text;        // for the model, whole sentences
  std::string structured;  // the same as a JSON object that fits the tool's output schema; empty when it failed
  bool failed = false;     // `text` contains what to do about it
  // Called once the answer was written, or could not be.
  std::function<void(bool written)> after{};
};
ToolResult failure(std::string sentence);

// Blocks until it is done. A cancelled call ends early, and its answer is discarded.
using RunTool = ToolResult(ToolContext& context, Call& call, const Arguments& arguments);

struct Tool {
  enum class Effect { reads, consumes, writes };
  enum class Begins { connected, at_once };
  std::string_view name, title, description;
  std::span<const Param> params;
  std::string output_schema;  // JSON
  Effect effect = Effect::reads;
  RunTool* run = nullptr;
  Begins begins = Begins::connected;  // connected: it is not run while the server cannot be called
};

std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);

// The result of tools/list, with the members that the version has.
std::string list_tools(const Version& version);
// The result of tools/call.
std::string render(const ToolResult& answer, const Version& version);
// The arguments with the names of this tool's parameters. Some clients have learned other names: timeout_secs,
// workspace_id and a few more.
Json with_known_names(const Tool& tool, Json given);
// What is wrong with the arguments, as a sentence; empty: they are valid.
std::string check_arguments(const Tool& tool, const Json& given);

}  // namespace restante::mcp
