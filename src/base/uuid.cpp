#include "base/uuid.h"

#include <algorithm>

#include "base/crypto.h"
#include "base/text.h"

namespace restante {

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    bytes[nibble / 2] = static_cast<std::uint8_t>(bytes[nibble / 2] << 4 | digit);
    ++nibble;
  }
  return Uuid(bytes);
}

namespace {

// To ask for many random bytes at once costs hardly more than to ask for sixteen. Ids are not secrets.
void unpredictable_bytes(std::array<std::uint8_t, 16>& out) {
  thread_local std::array<std::uint8_t, 1024> drawn;
  thread_local std::size_t used = drawn.size();
  if (used == drawn.size()) {
    random_bytes(drawn);
    used = 0;
  }
  std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(used), out.size(), out.begin());
  used += out.size();
}

}  // namespace

Uuid Uuid::make(Time now) {
  std::array<std::uint8_t, 16> bytes{};
  unpredictable_bytes(bytes);
  const auto millis =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(millis >> (40 - 8 * i));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x70);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  return Uuid(bytes);
}

std::string Uuid::hex() const { return to_hex(bytes_); }

std::string Uuid::text() const {
  std::string out = hex();
  for (std::size_t at : {20, 16, 12, 8}) out.insert(at, 1, '-');
  return out;
}

}  // namespace restante
