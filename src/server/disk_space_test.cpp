#include "server/disk_space.h"

#include <gtest/gtest.h>

#include <limits>

namespace restante {
namespace {

TEST(DiskSpace, IsWhatTheFileSystemSaysAndUnlimitedWhereNobodyKnows) {
  const auto real = std::filesystem::temp_directory_path();
  const auto unlimited = std::numeric_limits<std::uint64_t>::max();
  EXPECT_LT(DiskSpace({real}).free_bytes(), unlimited);
  EXPECT_EQ(DiskSpace({"/no/such/place"}).free_bytes(), unlimited);
  EXPECT_LT(DiskSpace({"/no/such/place", real}).free_bytes(), unlimited);
}

}  // namespace
}  // namespace restante
