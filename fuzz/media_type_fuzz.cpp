// Promises: an accepted media type can be written in its strictest form and reads back the same; a boundary follows RFC
// 2046; a written disposition reads back the same, whatever bytes its name has.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

void check_disposition(std::string_view input) {
  const auto read = parse_content_disposition(input);
  if (!read) return;
  ORACLE(!read->type.empty());
  ORACLE(input.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
  std::string written = read->type;
  for (const auto& [key, value] : {std::pair("name", read->name), std::pair("filename", read->filename)}) {
    if (!value) continue;
    if (value->find("%22") != std::string::npos || value->find("%0") != std::string::npos) return;
    written += std::string("; ") + key + "=\"";
    for (const char c : *value) written += c == '"' ? "%22" : c == '\r' ? "%0D" : c == '\n' ? "%0A" : std::string(1, c);
    written += '"';
  }
  const auto again = parse_content_disposition(written);
  ORACLE(again && again->type == read->type && again->name == read->name && again->filename == read->filename);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_media_type(input);
  check_disposition(input);
  check_extended(input);
  return 0;
}
