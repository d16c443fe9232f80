// UrlParts: a URL, split at its delimiters in the one way that every caller uses. A split never fails and checks
// nothing: the caller checks the characters before it, and every part after it. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace restante::http {

// The views point into the text that was split.
struct UrlParts {
  std::optional<std::string> scheme;          // lower case; none without "://"
  std::optional<std::string_view> user_info;  // everything before the last '@' of the authority
  std::string host;                           // lower case and without its brackets; empty if they are not closed
  bool bracketed = false;
  std::string_view port;      // empty or with its ':'; after brackets it may begin with another character
  std::string_view path;      // empty or with its '/'
  std::string_view query;     // empty or with its '?'
  std::string_view fragment;  // empty or with its '#'

  bool is_http() const { return scheme == "http" || scheme == "https"; }
  bool tls() const { return scheme == "https"; }
  // The scheme's default when no port is given. None unless it is ':' and a number from 1 to 65535.
  std::optional<std::uint16_t> port_number() const;
};

UrlParts split_url(std::string_view text);

// Brackets where needed, as in a URL or a Host header.
std::string host_in_brackets(const std::string& host);
// The port is omitted if it is the scheme's default.
std::string authority_of(bool tls, const std::string& host, std::uint16_t port);

}  // namespace restante::http
