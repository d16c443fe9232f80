// Digests, random bytes and constant-time comparison, on OpenSSL. Thread-safe; a Sha256 object belongs to one thread at
// a time. Throws Unavailable if the system cannot give random bytes or refuses MD5 (FIPS), else nothing but
// std::bad_alloc.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace restante {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256 of data that arrives in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  // Ends the computation; the object may only be destroyed or assigned afterwards.
  Digest finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

Digest sha256(std::string_view bytes);
// HMAC-SHA256 of RFC 2104.
Digest hmac_sha256(std::span<const std::uint8_t> key, std::string_view text);
// MD5 of RFC 1321, for protocols that require it as a checksum; it gives no security.
std::array<std::uint8_t, 16> md5(std::string_view bytes);
void random_bytes(std::span<std::uint8_t> out);
// Takes the same time wherever the first difference is.
bool equal_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

}  // namespace restante
