#include "base/md5.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace restante {
namespace {

// RFC 1321.
TEST(Md5, GivesThePublishedValues) {
  EXPECT_EQ(to_hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(to_hex(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

}  // namespace
}  // namespace restante
