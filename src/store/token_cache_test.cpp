#include "store/token_cache.h"

#include <gtest/gtest.h>

#include "base/uuid.h"

namespace restante {
namespace {

TEST(TokenCache, MoreTokensThanItHasRoomForAreReadAgain) {
  TokenCache cache;
  int reads = 0;
  const auto find = [&](int number) {
    return cache.find(sha256(std::to_string(number)), [&]() -> std::optional<Token> {
      ++reads;
      Token token;
      token.label = std::to_string(number);
      return token;
    });
  };
  constexpr int kMany = 8'192;
  for (int i = 0; i < kMany; ++i) find(i);
  EXPECT_EQ(find(0)->label, "0");
  EXPECT_EQ(reads, kMany) << "all of them fit";
  find(kMany);
  EXPECT_EQ(find(kMany)->label, std::to_string(kMany));
  EXPECT_EQ(reads, kMany + 1);
  EXPECT_EQ(find(0)->label, "0");
  EXPECT_EQ(reads, kMany + 2) << "the full cache was cleared";
}

TEST(TokenCache, AnUnknownTokenOrOneThatWasReadBeforeAClearIsNotKept) {
  TokenCache cache;
  const Digest hash = sha256("secret");
  EXPECT_FALSE(cache.find(hash, [] { return std::optional<Token>(); }));
  EXPECT_TRUE(cache.find(hash, [&] {
    cache.clear();
    return std::optional<Token>(Token{});
  }));
  int reads = 0;
  const auto read = [&] {
    ++reads;
    return std::optional<Token>(Token{});
  };
  EXPECT_TRUE(cache.find(hash, read));
  EXPECT_TRUE(cache.find(hash, read));
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace restante
