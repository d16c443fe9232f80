#include "http/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace restante::http {
namespace {

using Bytes = std::array<std::uint8_t, 16>;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Parsed {
  Bytes bytes{};
  bool v4 = false;
};

std::optional<Parsed> parse_address(std::string_view text) {
  // inet_pton stops at a NUL and would accept the text before it.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  Parsed parsed;
  in_addr v4{};
  if (::inet_pton(AF_INET, copy.c_str(), &v4) == 1) {
    std::copy(kMapped.begin(), kMapped.end(), parsed.bytes.begin());
    std::memcpy(parsed.bytes.data() + 12, &v4, 4);
    parsed.v4 = true;
    return parsed;
  }
  if (::inet_pton(AF_INET6, copy.c_str(), parsed.bytes.data()) != 1) return std::nullopt;
  parsed.v4 = std::equal(kMapped.begin(), kMapped.end(), parsed.bytes.begin());
  return parsed;
}

bool trusted_by(std::span<const Network> trusted, std::string_view address) {
  return std::any_of(trusted.begin(), trusted.end(), [&](const Network& n) { return n.contains(address); });
}

}  // namespace

std::optional<Network> Network::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network{address->bytes, 128};
  if (slash == std::string_view::npos) return network;
  const auto bits = parse_unsigned(text.substr(slash + 1));
  const unsigned width = address->v4 && text.find(':') == std::string_view::npos ? 32 : 128;
  if (!bits || *bits > width) return std::nullopt;
  network.prefix = static_cast<unsigned>(*bits) + (128 - width);
  return network;
}

bool Network::contains(std::string_view address_text) const {
  const auto other = parse_address(address_text);
  if (!other) return false;
  for (unsigned bit = 0; bit < prefix; bit += 8) {
    const unsigned left = std::min(8u, prefix - bit);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
    if ((address[bit / 8] & mask) != (other->bytes[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_loopback(std::string_view address_text) {
  const auto address = parse_address(address_text);
  if (!address) return false;
  if (address->v4) return address->bytes[12] == 127;
  Bytes one{};
  one[15] = 1;
  return address->bytes == one;
}

std::string client_address(std::string_view peer, std::string_view forwarded_for, std::span<const Network> trusted) {
  std::string_view client = peer;
  while (trusted_by(trusted, client) && !forwarded_for.empty()) {
    const auto comma = forwarded_for.rfind(',');
    const std::string_view hop =
        trim(comma == std::string_view::npos ? forwarded_for : forwarded_for.substr(comma + 1));
    if (!parse_address(hop)) break;
    client = hop;
    forwarded_for = comma == std::string_view::npos ? std::string_view() : forwarded_for.substr(0, comma);
  }
  return std::string(client);
}

std::string limit_key(std::string_view address_text) {
  const auto address = parse_address(address_text);
  if (!address) return std::string(address_text);
  const std::size_t size = address->v4 ? 16 : 8;
  return {reinterpret_cast<const char*>(address->bytes.data()), size};
}

}  // namespace restante::http
