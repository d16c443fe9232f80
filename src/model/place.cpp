#include "model/place.h"

namespace restante {

std::optional<PlacedKey> parse_key(std::string_view key) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return PlacedKey{Place::dir, key};
  const auto place = parse_place(key.substr(0, colon));
  if (!place || *place == Place::dir) return std::nullopt;
  return PlacedKey{*place, key.substr(colon + 1)};
}

std::string key_in(Place place, std::string_view bare) {
  if (place == Place::dir) return std::string(bare);
  std::string key(name_of(place));
  key += ':';
  key += bare;
  return key;
}

// Bare keys consist of hexadecimal digits; in ASCII a semicolon follows the colon.
KeyRange keys_of(Place place) {
  static constexpr std::array<KeyRange, kPlaces.size()> kRanges = {{{"", "g"}, {"inline:", "inline;"}, {"s3:", "s3;"}}};
  return kRanges.at(static_cast<std::size_t>(place));
}

}  // namespace restante
