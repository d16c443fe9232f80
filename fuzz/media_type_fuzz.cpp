// Promises: an accepted media type can be written in its strictest form and reads back the same; a boundary follows RFC
// 2046; a disposition reads back the same when it is written as Go does, and, if no backslash can be taken for an
// escape, as browsers do. A disposition that has any form of a file name is either malformed or has one.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/oracle.h"
#include "http/media_type.h"

namespace {

using namespace restante::http;

std::string escaped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void check_media_type(std::string_view input) {
  const auto media = parse_media_type(input);
  const auto boundary = form_data_boundary(input);
  if (!media) {
    ORACLE(!boundary);
    return;
  }
  std::string written = media->type + "/" + media->subtype;
  for (const auto& parameter : media->parameters) written += "; " + parameter.name + "=" + escaped(parameter.value);
  const auto again = parse_media_type(written);
  ORACLE(again && again->type == media->type && again->subtype == media->subtype);
  ORACLE(again->parameters.size() == media->parameters.size() && media->parameters.size() <= 16);
  for (const auto& parameter : media->parameters) {
    const std::string* same = again->find(parameter.name);
    ORACLE(same != nullptr && *same == parameter.value);
  }
  ORACLE(form_data_boundary(written) == boundary);
  if (!boundary) return;
  ORACLE(is_boundary(*boundary) && !boundary->empty() && boundary->size() <= 70);
  ORACLE(boundary->find_first_of("\r\n\t\"\\;") == std::string::npos && boundary->back() != ' ');
}

// Any UTF-8 is unchanged as an extended value, and no bytes make the whole disposition unreadable.
void check_extended(std::string_view input) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string encoded;
  for (const char c : input) {
    encoded += '%';
    encoded += kDigits[static_cast<unsigned char>(c) >> 4];
    encoded += kDigits[static_cast<unsigned char>(c) & 15];
  }
  const auto read = parse_content_disposition("form-data; filename=plain; filename*=UTF-8''" + encoded);
  ORACLE(read && read->filename && (*read->filename == input || *read->filename == "plain"));
}

enum class Writer { go, browser };

// No value when the text cannot be written in that way: literal codes come from `filename*` only.
std::optional<std::string> quoted(std::string_view text, Writer writer) {
  if (text.find("%22") != std::string_view::npos || text.find("%0") != std::string_view::npos) return std::nullopt;
  const bool go = writer == Writer::go;
  if (!go && (text.find("\\\\") != std::string_view::npos || text.ends_with('\\'))) return std::nullopt;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"')
      out += go ? "\\\"" : "%22";
    else if (c == '\\')
      out += go ? "\\\\" : "\\";
    else
      out += c == '\r' ? "%0D" : c == '\n' ? "%0A" : std::string(1, c);
  }
  return out + "\"";
}

void check_written(const ContentDisposition& read, Writer writer) {
  std::string written = read.type;
  for (const auto& [key, value] : {std::pair("name", read.name), std::pair("filename", read.filename)}) {
    if (!value) continue;
    const auto text = quoted(*value, writer);
    if (!text) return;
    written += std::string("; ") + key + "=" + *text;
  }
  const auto again = parse_content_disposition(written);
  ORACLE(again && again->type == read.type && again->name == read.name && again->filename == read.filename);
}

void check_disposition(std::string_view input) {
  const auto read = parse_content_disposition(input);
  if (!read) return;
  ORACLE(!read->type.empty());
  ORACLE(input.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
  check_written(*read, Writer::go);
  check_written(*read, Writer::browser);
}

// The input as the value of a parameter that names a file.
void check_named_file(std::string_view input) {
  for (const std::string_view key : {"filename", "filename*", "filename*0"}) {
    const auto read = parse_content_disposition("form-data; name=x; " + std::string(key) + "=" + std::string(input));
    ORACLE(!read || read->filename);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_media_type(input);
  check_disposition(input);
  check_extended(input);
  check_named_file(input);
  return 0;
}
