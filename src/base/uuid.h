// Uuid: sixteen bytes, lower case on output, upper or lower case on input. New ones are version 7, ordered by time, so
// that ids made at nearly the same time are near each other in an index.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace restante {

class Uuid {
 public:
  Uuid() = default;
  explicit Uuid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // The 36-character form only.
  static std::optional<Uuid> parse(std::string_view text);
  static Uuid make(Time now);

  std::string text() const;
  // 32 hex digits, as in file names on the agent's disk.
  std::string hex() const;
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  bool is_zero() const { return bytes_ == std::array<std::uint8_t, 16>{}; }
  auto operator<=>(const Uuid&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

// A Uuid with a type: a WorkspaceId cannot be passed for a FileId.
template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(Uuid uuid) : uuid_(uuid) {}
  static std::optional<Id> parse(std::string_view text) {
    const auto uuid = Uuid::parse(text);
    return uuid ? std::optional<Id>(Id(*uuid)) : std::nullopt;
  }
  static Id make(Time now) { return Id(Uuid::make(now)); }
  const Uuid& uuid() const { return uuid_; }
  std::string text() const { return uuid_.text(); }
  auto operator<=>(const Id&) const = default;

 private:
  Uuid uuid_;
};

// The key of a request that may be sent twice and must have one effect.
inline std::string fresh_key() { return Uuid::make(SystemClock().now()).text(); }

}  // namespace restante

template <class Tag>
struct std::hash<restante::Id<Tag>> {
  std::size_t operator()(const restante::Id<Tag>& id) const noexcept {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(id.uuid().bytes().data()), id.uuid().bytes().size()});
  }
};
