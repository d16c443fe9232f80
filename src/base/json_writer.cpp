#include "base/json_writer.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace restante {
namespace {

void append_escaped(std::string& out, std::string_view value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::size_t plain = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) continue;
    out.append(value, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kDigits[c >> 4];
        out += kDigits[c & 15];
    }
  }
  out.append(value, plain);
}

// Every byte that belongs to no character becomes U+FFFD.
std::string repaired(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    std::size_t length = 1;
    while (length < 4 && length <= value.size() && !is_valid_utf8(value.substr(0, length))) ++length;
    if (length <= value.size() && is_valid_utf8(value.substr(0, length))) {
      out.append(value, 0, length);
      value.remove_prefix(length);
    } else {
      out += "\xEF\xBF\xBD";
      value.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

void append_json_string(std::string& out, std::string_view value) {
  out += '"';
  if (is_valid_utf8(value)) {
    append_escaped(out, value);
  } else {
    append_escaped(out, repaired(value));
  }
  out += '"';
}

void JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  comma_ = false;
}

void JsonWriter::string(std::string_view value) {
  separate();
  append_json_string(out_, value);
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::real(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
}

}  // namespace restante
