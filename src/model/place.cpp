#include "model/place.h"

namespace restante {

std::string_view name_of(Place place) {
  switch (place) {
    case Place::dir:
      return "dir";
    case Place::inlined:
      return "inline";
    case Place::s3:
      return "s3";
  }
  return "";
}

std::optional<Place> parse_place(std::string_view text) {
  for (const Place place : kPlaces) {
    if (name_of(place) == text) return place;
  }
  return std::nullopt;
}

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
  switch (place) {
    case Place::dir:
      return {"", "g"};
    case Place::inlined:
      return {"inline:", "inline;"};
    case Place::s3:
      return {"s3:", "s3;"};
  }
  return {};
}

}  // namespace restante
