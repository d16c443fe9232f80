#include "model/upload_names.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace restante {
namespace {

bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool one_of(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }
bool is_kept(char c) { return is_alnum(c) || one_of("._-", c); }

// A token of RFC 9110, without `*`: a range is not a type.
bool is_type_char(char c) { return is_alnum(c) || one_of("!#$%&'+-.^_`|~", c); }
bool is_type_name(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_type_char); }

void cut(std::string& name) {
  if (name.size() <= kMaxFilename) return;
  const std::size_t dot = name.rfind('.');
  std::string extension = dot == std::string::npos ? "" : name.substr(dot);
  if (extension.size() > kMaxKeptExtension) extension.clear();
  name.resize(kMaxFilename - extension.size());
  name += extension;
}

}  // namespace

std::string sanitise_filename(std::string_view raw) {
  const std::size_t separator = raw.find_last_of("/\\");
  if (separator != std::string_view::npos) raw.remove_prefix(separator + 1);
  std::string name;
  while (!raw.empty()) {
    name.push_back(is_kept(raw.front()) ? raw.front() : '_');
    raw.remove_prefix(first_code_point(raw).bytes);
  }
  cut(name);
  if (name.empty() || name == "." || name == "..") return "file";
  return name;
}

std::string normalise_media_type(std::string_view raw) {
  const std::string_view type = trim(raw.substr(0, raw.find(';')));
  if (type.empty()) return "";
  const std::size_t slash = type.find('/');
  const bool exact = slash != std::string_view::npos && type.size() <= kMaxMediaType &&
                     is_type_name(type.substr(0, slash)) && is_type_name(type.substr(slash + 1));
  return exact ? std::string(type) : "application/octet-stream";
}

}  // namespace restante
