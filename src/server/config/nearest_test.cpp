#include "server/config/values.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

TEST(Nearest, FindsTyposAndSwappedLettersButNoDistantWord) {
  const std::vector<std::string> words{"serve", "dev", "connect", "timeouts.header"};
  EXPECT_EQ(nearest("sevre", words), "serve");
  EXPECT_EQ(nearest("conect", words), "connect");
  EXPECT_EQ(nearest("header", words), "timeouts.header");
  EXPECT_EQ(nearest("limits.header", words), "timeouts.header");
  EXPECT_EQ(nearest("xyzzy", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 's'), words), "");
}

}  // namespace
}  // namespace restante
