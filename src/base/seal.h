// Seal encrypts secrets that this server must read again, and that a copy of the database must not reveal. AES-256-GCM
// under one key with a new nonce each time. The owner's name is part of the authenticated data, so a secret sealed for
// one row does not open in another. Immutable, thread-safe. Throws Unavailable when the system has no randomness.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace restante {

using SealKey = std::array<std::uint8_t, 32>;

class Seal {
 public:
  explicit Seal(const SealKey& key) : key_(key) {}
  ~Seal();
  Seal(const Seal&) = delete;
  Seal& operator=(const Seal&) = delete;

  // Returns opaque bytes, 29 more than the secret. `bound_to` names the row that owns the secret; open() needs the same
  // value.
  std::string close(std::string_view secret, std::string_view bound_to) const;
  // Nothing when the text was changed, cut, sealed for another row or sealed under another key.
  std::optional<std::string> open(std::string_view sealed, std::string_view bound_to) const;

 private:
  SealKey key_;
};

}  // namespace restante
