#include "http/request.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_ignoring_case(key, name)) return value;
  }
  return {};
}

std::size_t Request::header_count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const auto& header) { return equal_ignoring_case(header.first, name); }));
}

std::string Request::header_list(std::string_view name) const {
  std::string list;
  for (const auto& [key, value] : headers) {
    if (!equal_ignoring_case(key, name)) continue;
    if (!list.empty()) list += ", ";
    list += value;
  }
  return list;
}

std::string_view Request::param(std::string_view name) const {
  for (const auto& [key, value] : path_params) {
    if (key == name) return value;
  }
  return {};
}

bool Request::has_sound_query() const {
  if (query.find('%') == std::string_view::npos) return true;  // the head accepts only ASCII
  const auto decoded = percent_decode(query);
  return decoded && is_valid_utf8(*decoded);
}

std::optional<std::string> Request::query_param(std::string_view name) const {
  if (query.empty()) return std::nullopt;
  for (const std::string_view pair : split(query, '&')) {
    const auto equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    std::string value(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    std::replace(value.begin(), value.end(), '+', ' ');
    return percent_decode(value);
  }
  return std::nullopt;
}

std::string_view Request::traceparent() const {
  // version-trace-parent-flags, lower-case hex; later versions may append more after a dash.
  static constexpr std::string_view kShape = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  const std::string_view text = header("traceparent");
  if (text.size() < kShape.size() || text.size() > 2 * kShape.size()) return {};
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == '-' ? text[i] == '-' : hex_digit(text[i]) >= 0 && to_lower(text[i]) == text[i];
    if (!fits) return {};
  }
  const bool longer = text.size() > kShape.size();
  const std::string_view version = text.substr(0, 2);
  if (version == "ff" || (longer && (version == "00" || text[kShape.size()] != '-'))) return {};
  const auto zero = [](std::string_view part) { return part.find_first_not_of('0') == std::string_view::npos; };
  if (zero(text.substr(3, 32)) || zero(text.substr(36, 16))) return {};
  return text.substr(0, kShape.size());
}

}  // namespace restante::http
