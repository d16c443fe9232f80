// Promises: however the bytes are cut, the lines are the same, none is longer than allowed and none contains an end of
// line. Each line gives at least one message: a request with an id, a notification without one, a response, or a fault
// with a sentence. An answer is one line of JSON with the same id. Arguments that pass the check can be read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fuzz/oracle.h"
#include "mcp/line_splitter.h"
#include "mcp/message.h"
#include "mcp/tool.h"

namespace {

using namespace restante;
using namespace restante::mcp;

constexpr std::size_t kLongest = 512;

struct Seen {
  std::vector<std::string> lines;
  std::size_t too_long = 0;
  bool operator==(const Seen&) const = default;
};

Seen cut(std::string_view input, std::size_t piece) {
  Seen seen;
  LineSplitter lines(kLongest);
  for (std::size_t at = 0; at < input.size(); at += piece) {
    lines.add(
        input.substr(at, piece), [&](std::string_view line) { seen.lines.emplace_back(line); },
        [&](const std::vector<Json>& ids) {
          ++seen.too_long;
          for (const Json& id : ids) ORACLE(id.if_string() || id.if_number());
        });
  }
  return seen;
}

void check_answer(const std::string& answer, const Json& id) {
  ORACLE(answer.find('\n') == std::string::npos);
  const auto json = parse_json(answer);
  ORACLE(json && json->find("id") && json->find("id")->dump() == id.dump());
}

void check_call(const Incoming& message) {
  const Json* name = message.params.find("name");
  const Tool* tool = name && name->if_string() ? find_tool(*name->if_string()) : nullptr;
  const Json* given = message.params.find("arguments");
  if (!tool || !given || !check_arguments(*tool, *given).empty()) return;
  const Arguments arguments(*given, tool->params);
  for (const Param& param : tool->params) {
    if (param.type == Param::Type::text)
      ORACLE(param.need == Param::Need::optional || !arguments.text(param.name).empty());
    if (param.type == Param::Type::whole) {
      const auto number = arguments.whole(param.name);
      ORACLE(number >= param.least && number <= param.most);
    }
    if (param.type == Param::Type::paths) {
      for (const auto& path : arguments.paths(param.name)) ORACLE(!path.empty());
    }
  }
}

void check_message(const Incoming& message) {
  const bool named = !message.id.is_null();
  ORACLE(!named || message.id.if_string() || message.id.if_number());
  switch (message.kind) {
    case Incoming::Kind::request:
      ORACLE(named);
      check_answer(response(message.id, "{}"), message.id);
      if (message.method == "tools/call") check_call(message);
      break;
    case Incoming::Kind::notification:
      ORACLE(!named);
      break;
    case Incoming::Kind::invalid:
      ORACLE(message.code < 0 && !message.fault.empty());
      check_answer(error_response(message.id, message.code, message.fault), message.id);
      break;
    case Incoming::Kind::response:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto seen = cut(input, size + 1);
  for (const std::size_t piece : {1, 2, 7, 100}) ORACLE(cut(input, piece) == seen);
  for (const auto& text : seen.lines) {
    ORACLE(!text.empty() && text.size() <= kLongest && text.find('\n') == std::string::npos);
    const auto line = parse_line(text);
    ORACLE(!line.messages.empty() && (line.batch || line.messages.size() == 1));
    for (const auto& message : line.messages) check_message(message);
  }
  return 0;
}
