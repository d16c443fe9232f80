#include "model/token.h"

#include <gtest/gtest.h>

#include <set>

namespace restante {
namespace {

TEST(Token, IsNeverTheSameTwiceAndNeverLooksLikeAnOption) {
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i) {
    const FreshToken token = make_token();
    EXPECT_TRUE(looks_like_token(token.secret));
    EXPECT_NE(token.secret.front(), '-');
    EXPECT_EQ(token.prefix, token.secret.substr(0, 8));
    seen.insert(token.secret);
  }
  EXPECT_EQ(seen.size(), 2000u);
}

}  // namespace
}  // namespace restante
