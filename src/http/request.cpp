#include "http/request.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {

std::string_view name_of(Method method) {
  switch (method) {
    case Method::get:
      return "GET";
    case Method::head:
      return "HEAD";
    case Method::post:
      return "POST";
    case Method::put:
      return "PUT";
    case Method::patch:
      return "PATCH";
    case Method::delete_:
      return "DELETE";
    case Method::options:
      return "OPTIONS";
  }
  return "GET";
}

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

std::string_view Request::param(std::string_view name) const {
  for (const auto& [key, value] : path_params) {
    if (key == name) return value;
  }
  return {};
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

}  // namespace restante::http
