// Seal: secrets that must stay readable for us and for nobody who copies the database. AES-256-GCM under one key, a
// fresh nonce each time, the place bound in: what was sealed for one row does not open in another. Immutable,
// thread-safe. Throws Unavailable when the system has no randomness.
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

  // Opaque bytes, 29 longer than the secret. `place` says whose it is and is needed again to open it.
  std::string close(std::string_view secret, std::string_view bound_to) const;
  // Nothing when it was changed, cut, moved to another place or sealed under another key.
  std::optional<std::string> open(std::string_view sealed, std::string_view bound_to) const;

 private:
  SealKey key_;
};

}  // namespace restante
