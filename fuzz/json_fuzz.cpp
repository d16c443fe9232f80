// Promises: another parser accepts every accepted text too and reads the same document, before and after it is written
// again; writing is a fixed point; no text with a NUL, a control byte, broken UTF-8 or a duplicate key is accepted; a
// string of any bytes is written as a JSON string.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "fuzz/oracle.h"

namespace {

using namespace restante;

boost::json::value theirs(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 65;
  boost::json::error_code failed;
  auto value = boost::json::parse(text, failed, {}, options);
  ORACLE(!failed);
  return value;
}

std::size_t check_tree(const Json& json, std::size_t depth) {
  std::size_t nodes = 1;
  if (const auto* text = json.if_string()) ORACLE(is_valid_utf8(*text) && text->find('\0') == std::string::npos);
  if (const auto* number = json.if_number()) {
    ORACLE(number->text.find_first_not_of("0123456789+-.eE") == std::string::npos);
    if (const auto whole = json.integer()) ORACLE(std::to_string(*whole) == number->text || number->text == "-0");
  }
  const bool nested = json.if_array() || json.if_object();
  ORACLE(!nested || depth < JsonLimits{}.depth);
  if (const auto* array = json.if_array()) {
    for (const Json& item : *array) nodes += check_tree(item, depth + 1);
  }
  if (const auto* object = json.if_object()) {
    std::set<std::string_view> keys;
    for (const auto& [key, value] : *object) {
      ORACLE(keys.insert(key).second && is_valid_utf8(key) && key.find('\0') == std::string::npos);
      ORACLE(json.find(key) == &value);
      nodes += check_tree(value, depth + 1);
    }
  }
  return nodes;
}

void check_document(std::string_view text) {
  const auto json = parse_json(text);
  const JsonLimits small{.depth = 3, .nodes = 8};
  const auto limited = parse_json(text, small);
  ORACLE(!limited || (json && limited->dump() == json->dump()));
  if (!json) return;
  const std::size_t nodes = check_tree(*json, 0);
  ORACLE(nodes <= JsonLimits{}.nodes && (!limited || nodes <= small.nodes));
  const std::string dump = json->dump();
  ORACLE(std::ranges::none_of(dump, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  const auto again = parse_json(dump);
  ORACLE(again && again->dump() == dump);
  // Compared as text, because 0e400 is not a number for the other parser and so not equal to itself.
  ORACLE(serialize(theirs(text)) == serialize(theirs(dump)));
}

void check_string(std::string_view bytes) {
  std::string out;
  append_json_string(out, bytes);
  ORACLE(std::ranges::none_of(out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  const auto value = theirs(out);
  ORACLE(value.is_string());
  ORACLE((std::string_view(value.as_string()) == bytes) == is_valid_utf8(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_document(input);
  check_string(input);
  return 0;
}
