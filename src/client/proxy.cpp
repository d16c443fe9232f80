#include "client/proxy.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <cstdlib>

#include "base/text.h"

namespace restante::client {
namespace {
namespace ip = boost::asio::ip;

std::optional<ip::address> as_address(const std::string& text) {
  boost::system::error_code error;
  const auto address = ip::make_address(text, error);
  return error ? std::nullopt : std::optional(address);
}

bool is_loopback(const Url& server) {
  if (server.host == "localhost" || server.host.ends_with(".localhost")) return true;
  const auto address = as_address(server.host);
  return address && address->is_loopback();
}

bool in_range(const ip::address& address, const std::string& range) {
  boost::system::error_code error;
  if (address.is_v4()) {
    const auto network = ip::make_network_v4(range, error);
    return !error && ip::make_network_v4(address.to_v4(), network.prefix_length()).canonical() == network.canonical();
  }
  const auto network = ip::make_network_v6(range, error);
  return !error && ip::make_network_v6(address.to_v6(), network.prefix_length()).canonical() == network.canonical();
}

bool names(std::string_view entry, const Url& server) {
  if (entry == "*") return true;
  const auto address = as_address(server.host);
  if (entry.find('/') != std::string_view::npos) return address && in_range(*address, std::string(entry));
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (address) return as_address(std::string(entry)) == address;
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  const std::string_view host = server.host;
  if (!host.ends_with(entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

// Splits "entry:port"; an IPv6 address has several colons and no port unless it is in brackets.
std::pair<std::string_view, std::optional<std::uint64_t>> split_port(std::string_view entry) {
  const auto colon = entry.rfind(':');
  if (colon == std::string_view::npos) return {entry, {}};
  const bool bracketed = colon > 0 && entry[colon - 1] == ']';
  if (!bracketed && entry.find(':') != colon) return {entry, {}};
  const auto port = parse_unsigned(entry.substr(colon + 1));
  return port ? std::pair(entry.substr(0, colon), port) : std::pair(entry, std::optional<std::uint64_t>());
}

std::optional<std::string> first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto value = environment(name); value && !value->empty()) return value;
  }
  return {};
}

}  // namespace

std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

bool is_exempt(const Url& server, std::string_view no_proxy) {
  for (const auto piece : split(no_proxy, ',')) {
    const auto entry = lower_case(trim(piece));
    if (entry.empty()) continue;
    const auto [host, port] = split_port(entry);
    if ((!port || *port == server.port) && !host.empty() && names(host, server)) return true;
  }
  return false;
}

Outcome<std::optional<Url>> choose_proxy(const Url& server, const Environment& environment) {
  using Choice = Outcome<std::optional<Url>>;
  if (is_loopback(server)) return Choice(std::nullopt);
  if (const auto exempt = first_set(environment, {"no_proxy", "NO_PROXY"}); exempt && is_exempt(server, *exempt)) {
    return Choice(std::nullopt);
  }
  std::optional<std::string> text;
  if (server.tls) {
    text = first_set(environment, {"https_proxy", "HTTPS_PROXY"});
  } else if (environment("REQUEST_METHOD")) {
    text = first_set(environment, {"http_proxy"});
  } else {
    text = first_set(environment, {"http_proxy", "HTTP_PROXY"});
  }
  if (!text) text = first_set(environment, {"all_proxy", "ALL_PROXY"});
  if (!text) return Choice(std::nullopt);
  const auto proxy = parse_proxy_url(*text);
  if (proxy.has_error() || proxy->tls) {
    return Failure(Failure::Kind::bad_url,
                   "the proxy in the environment is not an http:// address; only those are spoken");
  }
  return Choice(*proxy);
}

}  // namespace restante::client
