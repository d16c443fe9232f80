#include "client/url.h"

#include "base/text.h"

namespace restante::client {
namespace {

Failure bad(std::string_view what) { return {Failure::Kind::bad_url, "not a usable address: " + std::string(what)}; }

bool plausible_host(std::string_view host, std::string_view more) {
  if (host.empty() || host.size() > 255) return false;
  return std::all_of(host.begin(), host.end(), [&](char c) {
    return is_digit(c) || is_alpha(c) || c == '.' || c == '-' || c == '_' || more.find(c) != std::string_view::npos;
  });
}

// "host", "host:port", "[v6]" or "[v6]:port".
bool read_authority(std::string_view text, Url& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = lower_case(text.substr(1, end - 1));
    if (!plausible_host(url.host, ":%") || url.host.find(':') == std::string::npos) return false;
    port = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    url.host = lower_case(text.substr(0, colon));
    if (!plausible_host(url.host, "")) return false;
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (port.empty()) return true;
  const auto number = port.front() == ':' ? parse_unsigned(port.substr(1)) : std::nullopt;
  if (!number || *number == 0 || *number > 65535) return false;
  url.port = static_cast<std::uint16_t>(*number);
  return true;
}

Outcome<Url> parse(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\\')
      return bad("it holds a blank or control character");
  }
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return bad("it must begin with http:// or https://");
  Url url;
  const auto scheme = lower_case(text.substr(0, colon));
  if (scheme != "http" && scheme != "https") return bad("only http:// and https:// are spoken");
  url.tls = scheme == "https";
  url.port = url.tls ? 443 : 80;
  auto rest = text.substr(colon + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) return bad("it must not have a query or a fragment");
  const auto slash = rest.find('/');
  auto authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const auto decoded = percent_decode(authority.substr(0, at));
    if (!decoded) return bad("its user name has a broken escape");
    url.user_info = *decoded;
    authority = authority.substr(at + 1);
  }
  if (!read_authority(authority, url)) return bad("its host or port is not valid");
  return url;
}

}  // namespace

std::string Url::authority() const {
  const bool own_port = port == (tls ? 443 : 80);
  const auto name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return own_port ? name : name + ":" + std::to_string(port);
}

std::string Url::host_and_port() const {
  const auto name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

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
