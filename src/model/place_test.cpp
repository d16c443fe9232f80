#include "model/place.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

const std::string kBare = "0192f0c1a2b3c4d5e6f708192a3b4c5d";

TEST(Place, IsReadBackFromItsName) {
  for (const Place place : kPlaces) EXPECT_EQ(parse_place(name_of(place)), place);
  for (const char* other : {"", "DIR", "inlined", "s3:", "disk"}) EXPECT_FALSE(parse_place(other)) << other;
}

TEST(Place, AKeyNamesThePlaceOfItsBlob) {
  for (const Place place : kPlaces) {
    const std::string key = key_in(place, kBare);
    const auto parsed = parse_key(key);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->place, place);
    EXPECT_EQ(parsed->bare, kBare);
  }
  EXPECT_EQ(key_in(Place::dir, kBare), kBare);
  EXPECT_EQ(key_in(Place::inlined, kBare), "inline:" + kBare);
  EXPECT_EQ(key_in(Place::s3, kBare), "s3:" + kBare);
}

TEST(Place, AnUnknownPrefixIsNoPlace) {
  for (const std::string prefix : {"ftp:", ":", "dir:", "S3:", "inlined:"}) EXPECT_FALSE(parse_key(prefix + kBare));
}

TEST(Place, TheKeysOfAPlaceAreInItsRangeAndInNoOther) {
  for (const Place place : kPlaces) {
    for (const std::string& bare : {kBare, std::string(32, '0'), std::string(32, 'f')}) {
      for (const Place range : kPlaces) {
        const auto [from, until] = keys_of(range);
        const std::string key = key_in(place, bare);
        EXPECT_EQ(from <= key && key < until, place == range) << key << " in " << name_of(range);
      }
    }
  }
}

}  // namespace
}  // namespace restante
