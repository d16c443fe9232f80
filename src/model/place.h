// Place: where bytes can live, and the keys that say so. A bare key is a file of `dir`; rows of the database are
// `inline:<key>`, objects `s3:<key>`. This is the one file that knows how a place is read from a key. Values only.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace restante {

enum class Place { dir, inlined, s3 };
inline constexpr std::array kPlaces = {Place::dir, Place::inlined, Place::s3};

// What the settings, the tables and people call it: dir, inline, s3.
std::string_view name_of(Place place);
std::optional<Place> parse_place(std::string_view text);

// The same bytes in one place or, while they move, in two: read `key`, and `twin` where that fails.
struct BlobKeys {
  std::string key{};
  std::string twin{};  // empty: there is none
  bool operator==(const BlobKeys&) const = default;
};

// A key without its prefix, and where it belongs.
struct PlacedKey {
  Place place = Place::dir;
  std::string_view bare;
};
// None where the prefix names no place that we know.
std::optional<PlacedKey> parse_key(std::string_view key);
std::string key_in(Place place, std::string_view bare);

// All keys of a place and no other, compared by bytes: from <= key < until.
struct KeyRange {
  std::string_view from;
  std::string_view until;
};
KeyRange keys_of(Place place);

}  // namespace restante
