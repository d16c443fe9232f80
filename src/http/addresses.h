// Networks in CIDR form, and the client's real address behind trusted proxies. Pure; an IPv4 address mapped into IPv6
// counts as IPv4.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace restante::http {

struct Network {
  std::array<std::uint8_t, 16> address{};  // IPv4 as ::ffff:a.b.c.d
  unsigned prefix = 128;

  // "10.0.0.0/8", "::1", "192.0.2.7"; nothing else.
  static std::optional<Network> parse(std::string_view text);
  bool contains(std::string_view address_text) const;
};

bool is_loopback(std::string_view address_text);

// The client's address: the peer, unless the peer is trusted; then the last address in X-Forwarded-For that is not
// itself trusted. An entry that is not an address ends the search, because it cannot be trusted.
std::string client_address(std::string_view peer, std::string_view forwarded_for, std::span<const Network> trusted);

// The key for limits per address: the whole IPv4 address, or the /64 of an IPv6 address, since one customer usually has
// that much.
std::string limit_key(std::string_view address_text);

}  // namespace restante::http
