#include "http/callback_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "base/names.h"
#include "base/text.h"
#include "http/url.h"

namespace restante::http {
namespace {

using Fault = CallbackFault;

constexpr std::size_t kMaxUrl = 2048;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

// RFC 6890 and IANA's special-purpose registry: everything that is not clearly one host on the public internet.
constexpr const char* kRefusedV4[] = {
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
};
// Within 2000::/3: protocol assignments with Teredo, ORCHID and benchmarks, documentation, 6to4. The last contain an
// IPv4 address that a relay would connect to.
constexpr const char* kRefusedV6[] = {"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"};

std::vector<Network> networks(std::span<const char* const> texts) {
  std::vector<Network> list;
  for (const char* text : texts) list.push_back(Network::parse(text).value());
  return list;
}

bool any_contains(std::span<const Network> list, std::string_view address) {
  return std::ranges::any_of(list, [&](const Network& network) { return network.contains(address); });
}

bool is_v4(const std::string& text) {
  in_addr parsed{};
  return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1;
}

bool is_v6(const std::string& text) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

// The IPv4 address in the last four bytes of an IPv6 one.
std::string embedded_v4(const std::string& address) {
  std::array<std::uint8_t, 16> bytes{};
  ::inet_pton(AF_INET6, address.c_str(), bytes.data());
  return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
}

bool is_public_v4(std::string_view address) {
  static const std::vector<Network> refused = networks(kRefusedV4);
  return !any_contains(refused, address);
}

bool is_public_v6(std::string_view address) {
  static const Network global = Network::parse("2000::/3").value();
  static const std::vector<Network> refused = networks(kRefusedV6);
  return global.contains(address) && !any_contains(refused, address);
}

bool is_name_character(char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '_'; }

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, is_name_character);
}

// Resolvers read such a host as a number and convert it to an address: the last label decides.
bool ends_in_number(std::string_view last) {
  if (std::ranges::all_of(last, is_digit)) return true;
  return last.size() >= 2 && last[0] == '0' && last[1] == 'x' &&
         std::ranges::all_of(last.substr(2), [](char c) { return hex_digit(c) >= 0; });
}

boost::system::result<void, Fault> check_name(const std::string& host) {
  if (host.empty() || host.size() > kMaxName) return Fault::bad_host;
  const auto labels = split(host, '.');
  if (!std::ranges::all_of(labels, is_label)) return Fault::bad_host;
  if (ends_in_number(labels.back())) return Fault::numeric_host;
  if (labels.back() == "localhost") return Fault::local_host;
  return {};
}

boost::system::result<void, Fault> check_host(const UrlParts& parts, const CallbackUrl& url) {
  if (!parts.bracketed) return url.literal ? boost::system::result<void, Fault>() : check_name(url.host);
  if (!is_v6(url.host) || (!parts.port.empty() && parts.port.front() != ':')) return Fault::bad_host;
  return {};
}

// The characters of RFC 3986 and those that servers accept in practice; quotes and brackets only help an injection.
boost::system::result<void, Fault> check_target(std::string_view text) {
  if (text.find_first_of("\"<>[]^`{|}") != std::string_view::npos) return Fault::bad_character;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) return Fault::bad_escape;
  }
  return {};
}

}  // namespace

std::string_view sentence_of(CallbackFault fault) {
  static constexpr Names<Fault, Fault::bad_escape> kSentences{
      "the url is longer than 2048 characters",
      "the url holds a blank, a backslash, or a character outside printable ASCII",
      "the url must begin with http:// or https://",
      "the url must not hold a user name or password",
      "the url must not have a fragment (#)",
      "the url's host must be a DNS name or an IP address",
      "the url's host is a number: write the address as four decimal parts, or a name",
      "the url names localhost, which is this server: agents without a public address register with delivery_mode poll",
      "the url's port must be a number from 1 to 65535",
      "the url holds a percent sign that is no escape"};
  return kSentences.of(fault);
}

std::string CallbackUrl::authority() const { return authority_of(secure, host, port); }

std::string CallbackUrl::target() const { return (path.empty() ? "/" : path) + query; }

std::string CallbackUrl::text() const { return (secure ? "https://" : "http://") + authority() + path + query; }

boost::system::result<CallbackUrl, CallbackFault> parse_callback_url(std::string_view text) {
  if (text.size() > kMaxUrl) return Fault::too_long;
  const auto plain = [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; };
  if (!std::ranges::all_of(text, plain)) return Fault::bad_character;
  const UrlParts parts = split_url(text);
  if (!parts.is_http()) return Fault::bad_scheme;
  if (!parts.fragment.empty()) return Fault::fragment;
  if (parts.user_info) return Fault::credentials;
  CallbackUrl url;
  url.secure = parts.tls();
  url.host = parts.host;
  url.literal = parts.bracketed || is_v4(url.host);
  url.path = parts.path;
  url.query = parts.query;
  if (const auto host = check_host(parts, url); !host) return host.error();
  const auto port = parts.port_number();
  if (!port || parts.port.starts_with(":0")) return Fault::bad_port;
  url.port = *port;
  if (const auto target = check_target(url.path + url.query); !target) return target.error();
  return url;
}

bool AddressRules::may_use_port(std::uint16_t port) const {
  return port == 80 || port == 443 || std::ranges::find(allow_ports, port) != allow_ports.end();
}

bool AddressRules::may_connect(std::string_view address) const {
  static const Network mapped = Network::parse("::ffff:0:0/96").value();
  static const Network nat64 = Network::parse("64:ff9b::/96").value();
  const std::string text(address);
  if (is_v4(text)) return any_contains(allow_networks, text) || is_public_v4(text);
  if (!is_v6(text)) return false;
  if (mapped.contains(text)) return may_connect(embedded_v4(text));
  if (any_contains(allow_networks, text)) return true;
  return nat64.contains(text) ? may_connect(embedded_v4(text)) : is_public_v6(text);
}

void throw_exception_from_error(CallbackFault fault, const boost::source_location&) {
  throw std::logic_error("unchecked callback fault: " + std::string(sentence_of(fault)));
}

}  // namespace restante::http
