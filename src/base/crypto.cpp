#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <new>

#include "base/error.h"

namespace restante {

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  Digest digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()), digest.data(), nullptr);
  return digest;
}

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

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

std::array<std::uint8_t, 16> md5(std::string_view bytes) {
  std::array<std::uint8_t, 16> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_md5(), nullptr) != 1) {
    throw Unavailable("this system's OpenSSL does not compute MD5");
  }
  return digest;
}

void random_bytes(std::span<std::uint8_t> out) {
  if (RAND_bytes(out.data(), static_cast<int>(out.size())) != 1) throw Unavailable("no randomness from the system");
}

bool equal_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace restante
