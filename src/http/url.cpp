#include "http/url.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {
namespace {

std::uint16_t default_port(bool tls) { return tls ? 443 : 80; }

// Cuts the text from the first of these characters on off, and returns it.
std::string_view cut_from(std::string_view& text, std::string_view characters) {
  const auto at = std::min(text.find_first_of(characters), text.size());
  const auto tail = text.substr(at);
  text = text.substr(0, at);
  return tail;
}

}  // namespace

std::optional<std::uint16_t> UrlParts::port_number() const {
  if (port.empty()) return default_port(tls());
  const auto number = port.front() == ':' ? parse_unsigned(port.substr(1)) : std::nullopt;
  if (!number || *number == 0 || *number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

UrlParts split_url(std::string_view text) {
  UrlParts parts;
  if (const auto end = text.find("://"); end != std::string_view::npos) {
    parts.scheme = lower_case(text.substr(0, end));
    text.remove_prefix(end + 3);
  }
  parts.fragment = cut_from(text, "#");
  parts.query = cut_from(text, "?");
  parts.path = cut_from(text, "/");
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    parts.user_info = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  parts.bracketed = text.starts_with('[');
  if (parts.bracketed) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return parts;
    parts.host = lower_case(text.substr(1, close - 1));
    parts.port = text.substr(close + 1);
  } else {
    parts.port = cut_from(text, ":");
    parts.host = lower_case(text);
  }
  return parts;
}

std::string host_in_brackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string authority_of(bool tls, const std::string& host, std::uint16_t port) {
  const std::string name = host_in_brackets(host);
  return port == default_port(tls) ? name : name + ":" + std::to_string(port);
}

}  // namespace restante::http
