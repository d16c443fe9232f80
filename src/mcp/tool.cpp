#include "mcp/tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace restante::mcp {
namespace {

using Type = Param::Type;
using Need = Param::Need;

constexpr std::size_t kMostPaths = 64;
// Other names of parameters, and ours.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {{"timeout_secs", "timeout_seconds"},
                                                                         {"workspace_id", "target"},
                                                                         {"task_id", "delegation_id"},
                                                                         {"before_ts", "before"}};

void write_type(JsonWriter& out, const Param& param) {
  switch (param.type) {
    case Type::text:
      out.member("type", "string");
      if (param.need == Need::required) out.member("minLength", std::int64_t{1});
      break;
    case Type::whole:
      out.member("type", "integer");
      out.member("minimum", param.least);
      out.member("maximum", param.most);
      out.member("default", param.usual);
      break;
    case Type::paths:
      out.member("type", "array");
      out.raw_member("items", R"({"type":"string","minLength":1})");
      out.member("maxItems", static_cast<std::int64_t>(kMostPaths));
      break;
  }
}

void write_input_schema(JsonWriter& out, const Tool& tool) {
  out.member("type", "object");
  out.object("properties", [&] {
    for (const Param& param : tool.params) {
      out.object(param.name, [&] {
        write_type(out, param);
        out.member("description", param.description);
      });
    }
  });
  std::vector<std::string_view> required;
  for (const Param& param : tool.params) {
    if (param.need == Need::required) required.push_back(param.name);
  }
  if (!required.empty()) out.array("required", required, [&](std::string_view name) { out.string(name); });
  out.member("additionalProperties", false);
}

void write_annotations(JsonWriter& out, const Tool& tool) {
  const bool reads = tool.effect == Tool::Effect::reads;
  out.member("title", tool.title);
  out.member("readOnlyHint", reads);
  if (!reads) {
    // A message taken from the inbox stays in the history, and sending deletes nothing.
    out.member("destructiveHint", false);
    out.member("idempotentHint", false);
  }
  out.member("openWorldHint", tool.effect == Tool::Effect::writes);
}

std::string check(const Param& param, const Json& value) {
  switch (param.type) {
    case Type::text:
      if (!value.if_string()) return fmt::format("{} must be a string", param.name);
      if (param.need == Need::required && value.if_string()->empty())
        return fmt::format("{} must not be empty", param.name);
      return {};
    case Type::whole: {
      const auto number = value.integer();
      if (!number || *number < param.least || *number > param.most)
        return fmt::format("{} must be a whole number from {} to {}", param.name, param.least, param.most);
      return {};
    }
    case Type::paths: {
      const auto* list = value.if_array();
      const bool fine = list && std::ranges::all_of(*list, [](const Json& path) {
                          return path.if_string() && !path.if_string()->empty();
                        });
      if (!fine) return fmt::format("{} must be a list of paths of files on this machine", param.name);
      if (list->size() > kMostPaths) return fmt::format("{} may name at most {} files", param.name, kMostPaths);
      return {};
    }
  }
  return {};
}

}  // namespace

std::int64_t Arguments::whole(std::string_view name) const {
  if (const Json* value = given_.find(name); value && !value->is_null()) return value->integer().value();
  return std::ranges::find(params_, name, &Param::name)->usual;
}

std::vector<std::string> Arguments::paths(std::string_view name) const {
  std::vector<std::string> paths;
  for (const Json& path : given_.items(name)) paths.push_back(*path.if_string());
  return paths;
}

ToolResult failure(std::string sentence) { return {std::move(sentence), {}, true}; }

const Tool* find_tool(std::string_view name) {
  const auto all = tools();
  const auto found = std::ranges::find(all, name, &Tool::name);
  return found == all.end() ? nullptr : &*found;
}

std::string list_tools(const Version& version) {
  return json_object([&](JsonWriter& out) {
    out.objects("tools", tools(), [&](const Tool& tool) {
      out.member("name", tool.name);
      if (version.structured) out.member("title", tool.title);
      out.member("description", tool.description);
      out.object("inputSchema", [&] { write_input_schema(out, tool); });
      if (version.structured) out.raw_member("outputSchema", tool.output_schema);
      if (version.annotations) out.object("annotations", [&] { write_annotations(out, tool); });
    });
  });
}

std::string render(const ToolResult& answer, const Version& version) {
  return json_object([&](JsonWriter& out) {
    out.objects("content", std::span(&answer.text, 1), [&](const std::string& text) {
      out.member("type", "text");
      out.member("text", text);
    });
    if (version.structured && !answer.structured.empty()) out.raw_member("structuredContent", answer.structured);
    out.member("isError", answer.failed);
  });
}

Json with_known_names(const Tool& tool, Json given) {
  const auto has_param = [&](std::string_view name) {
    return std::ranges::find(tool.params, name, &Param::name) != tool.params.end();
  };
  for (const auto& [other, ours] : kOtherNames) {
    const Json* value = given.find(other);
    if (!value || given.find(ours) || has_param(other) || !has_param(ours)) continue;
    Json moved = *value;
    given.erase(other);
    given.set(ours, std::move(moved));
  }
  return given;
}

std::string check_arguments(const Tool& tool, const Json& given) {
  if (!given.is_null() && !given.if_object()) return "arguments must be an object";
  for (const auto& [name, value] : given.if_object() ? *given.if_object() : Json::Object()) {
    const auto param = std::ranges::find(tool.params, name, &Param::name);
    if (param == tool.params.end()) {
      std::vector<std::string_view> names;
      for (const Param& known : tool.params) names.push_back(known.name);
      return names.empty() ? fmt::format("{} takes no arguments", tool.name)
                           : fmt::format("{} takes {} and nothing else", tool.name, fmt::join(names, ", "));
    }
    if (value.is_null()) continue;
    if (auto wrong = check(*param, value); !wrong.empty()) return wrong;
  }
  for (const Param& param : tool.params) {
    const Json* value = given.find(param.name);
    if (param.need == Need::required && (!value || value->is_null())) return fmt::format("{} is missing", param.name);
  }
  return {};
}

}  // namespace restante::mcp
