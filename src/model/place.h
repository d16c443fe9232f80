// Place: where blobs can be stored, and the keys that name the place. A bare key is a file of `dir`; `inline:<key>` is
// in the database, `s3:<key>` is an object. This is the only file that reads a place from a key. Values only.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/names.h"

namespace restante {

enum class Place { dir, inlined, s3 };
inline constexpr std::array kPlaces = {Place::dir, Place::inlined, Place::s3};

// The name in settings, tables and texts for people: dir, inline, s3.
inline constexpr Names<Place, Place::s3> kPlaceNames{"dir", "inline", "s3"};
constexpr std::string_view name_of(Place place) { return kPlaceNames.of(place); }
constexpr std::optional<Place> parse_place(std::string_view text) { return kPlaceNames.parse(text); }

// The keys of one blob, which is in one place or, during a blob move, in two: read `key`, and `twin` if that fails.
struct BlobKeys {
  std::string key{};
  std::string twin{};  // empty: there is no second copy
  bool operator==(const BlobKeys&) const = default;
};

// A key without its prefix, and its place.
struct PlacedKey {
  Place place = Place::dir;
  std::string_view bare;
};
// Nothing when the prefix is unknown.
std::optional<PlacedKey> parse_key(std::string_view key);
std::string key_in(Place place, std::string_view bare);

// All keys of a place and no others, compared as bytes: from <= key < until.
struct KeyRange {
  std::string_view from;
  std::string_view until;
};
KeyRange keys_of(Place place);

}  // namespace restante
