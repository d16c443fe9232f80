#include "base/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <new>

namespace restante {

Digest hmac_sha256(std::span<const std::uint8_t> key, std::string_view text) {
  Digest digest;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  // OpenSSL takes a null key for "the key of the last call".
  static constexpr std::uint8_t kNone = 0;
  const auto* key_bytes = key.empty() ? &kNone : key.data();
  if (!HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()), bytes, text.size(), digest.data(), nullptr)) {
    throw std::bad_alloc();
  }
  return digest;
}

}  // namespace restante
