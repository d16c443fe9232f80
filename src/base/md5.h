// MD5 of RFC 1321, for protocols that require it as a checksum; it gives no security. Throws Unavailable where the
// system's OpenSSL refuses it (FIPS).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace restante {

std::array<std::uint8_t, 16> md5(std::string_view bytes);

}  // namespace restante
