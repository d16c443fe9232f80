#include "client/url.h"

#include <algorithm>

#include "base/text.h"
#include "http/url.h"

namespace restante::client {
namespace {

Failure bad(std::string_view what) { return {Failure::Kind::bad_url, "not a usable address: " + std::string(what)}; }

bool plausible_host(const http::UrlParts& parts) {
  if (parts.host.empty() || parts.host.size() > 255) return false;
  if (parts.bracketed && parts.host.find(':') == std::string::npos) return false;
  const std::string_view others = parts.bracketed ? ".-_:%" : ".-_";
  return std::ranges::all_of(
      parts.host, [&](char c) { return is_digit(c) || is_alpha(c) || others.find(c) != std::string_view::npos; });
}

Outcome<Url> parse(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\\')
      return bad("it holds a blank or control character");
  }
  const auto parts = http::split_url(text);
  if (!parts.scheme) return bad("it must begin with http:// or https://");
  if (!parts.is_http()) return bad("only http:// and https:// are spoken");
  if (!parts.query.empty() || !parts.fragment.empty()) return bad("it must not have a query or a fragment");
  Url url;
  url.tls = parts.tls();
  url.path = parts.path;
  while (url.path.ends_with('/')) url.path.pop_back();
  if (parts.user_info) {
    const auto decoded = percent_decode(*parts.user_info);
    if (!decoded) return bad("its user name has a broken escape");
    url.user_info = *decoded;
  }
  const auto port = parts.port_number();
  if (!plausible_host(parts) || !port) return bad("its host or port is not valid");
  url.host = parts.host;
  url.port = *port;
  return url;
}

}  // namespace

std::string Url::authority() const { return http::authority_of(tls, host, port); }

std::string Url::host_and_port() const { return http::host_in_brackets(host) + ":" + std::to_string(port); }

std::string Url::text() const { return (tls ? "https://" : "http://") + authority() + path; }

Outcome<Url> parse_url(std::string_view text) {
  auto url = parse(text);
  if (url.has_value() && !url->user_info.empty())
    return bad("it must not hold a user name; tokens are given separately");
  return url;
}

Outcome<Url> parse_proxy_url(std::string_view text) {
  const auto url = text.find("://") == std::string_view::npos ? parse("http://" + std::string(text)) : parse(text);
  if (url.has_error()) return url;
  Url proxy = *url;
  proxy.path.clear();
  return proxy;
}

}  // namespace restante::client
