#include "base/seal.h"

#include <gtest/gtest.h>

#include <set>

namespace restante {
namespace {

SealKey key(std::uint8_t first) {
  SealKey bytes{};
  bytes[0] = first;
  return bytes;
}

TEST(Seal, ASealedSecretOpensAgain) {
  const Seal seal(key(1));
  for (const std::string& secret :
       {std::string(), std::string("x"), std::string(43, 'k'), std::string(100'000, '\0')}) {
    const std::string sealed = seal.close(secret, "workspace");
    EXPECT_EQ(sealed.size(), secret.size() + 29);
    EXPECT_EQ(seal.open(sealed, "workspace"), secret);
  }
}

TEST(Seal, TheSealedTextDoesNotContainTheSecret) {
  const std::string secret = "a-secret-that-would-be-found-by-grep";
  EXPECT_EQ(Seal(key(1)).close(secret, "w").find("secret"), std::string::npos);
}

TEST(Seal, TheSameSecretGivesADifferentTextEachTime) {
  const Seal seal(key(1));
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(seal.close("secret", "w").substr(1, 12));
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Seal, AnotherKeyOrAnotherBindingOpensNothing) {
  const std::string sealed = Seal(key(1)).close("secret", "workspace a");
  EXPECT_FALSE(Seal(key(2)).open(sealed, "workspace a"));
  EXPECT_FALSE(Seal(key(1)).open(sealed, "workspace b"));
  EXPECT_FALSE(Seal(key(1)).open(sealed, ""));
}

TEST(Seal, AnyChangedBitOpensNothing) {
  const Seal seal(key(1));
  const std::string sealed = seal.close("secret", "w");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(seal.open(changed, "w")) << i << ":" << bit;
    }
  }
}

TEST(Seal, ACutTextOpensNothing) {
  const Seal seal(key(1));
  const std::string sealed = seal.close("secret", "w");
  for (std::size_t size = 0; size < sealed.size(); ++size) EXPECT_FALSE(seal.open(sealed.substr(0, size), "w")) << size;
  EXPECT_FALSE(seal.open(sealed + "x", "w"));
}

}  // namespace
}  // namespace restante
