#include "http/credentials.h"

#include "base/text.h"

namespace restante::http {

std::optional<std::string_view> bearer_of(const Request& request) {
  const std::string_view value = request.header("Authorization");
  const auto space = value.find(' ');
  if (space == std::string_view::npos || !equal_ignoring_case(value.substr(0, space), "Bearer")) return std::nullopt;
  return trim(value.substr(space + 1));
}

std::optional<std::string_view> session_cookie(const Request& request) {
  for (const std::string_view pair : split(request.header("Cookie"), ';')) {
    const std::string_view cookie = trim(pair);
    const auto equals = cookie.find('=');
    if (equals != std::string_view::npos && cookie.substr(0, equals) == kSessionCookie)
      return cookie.substr(equals + 1);
  }
  return std::nullopt;
}

std::string_view secret_of(const Request& request) {
  const bool has_header = request.header_count("Authorization") > 0;
  return (has_header ? bearer_of(request) : session_cookie(request)).value_or(std::string_view());
}

}  // namespace restante::http
