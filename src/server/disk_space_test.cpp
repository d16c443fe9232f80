#include "server/disk_space.h"

#include <gtest/gtest.h>

#include <limits>

namespace restante {
namespace {

TEST(DiskSpace, IsWhatTheFileSystemSaysAndUnlimitedWhereNobodyKnows) {
  EXPECT_LT(free_bytes(std::filesystem::temp_directory_path()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(free_bytes("/no/such/place"), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace restante
