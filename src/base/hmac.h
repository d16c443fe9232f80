// HMAC-SHA256 of RFC 2104, on OpenSSL. Pure and thread-safe; throws nothing but std::bad_alloc.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/crypto.h"

namespace restante {

Digest hmac_sha256(std::span<const std::uint8_t> key, std::string_view text);

}  // namespace restante
