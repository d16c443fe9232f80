#include "server/places/disk_space.h"

#include <gtest/gtest.h>

#include <limits>

namespace restante {
namespace {

TEST(DiskSpace, IsTheFigureOfTheFileSystemAndUnlimitedWhenThatIsUnknown) {
  const auto real = std::filesystem::temp_directory_path();
  const auto unlimited = std::numeric_limits<std::uint64_t>::max();
  EXPECT_LT(DiskSpace({real}).free_after(0), unlimited);
  EXPECT_EQ(DiskSpace({"/no/such/place"}).free_after(0), unlimited);
  EXPECT_LT(DiskSpace({"/no/such/place", real}).free_after(0), unlimited);
}

// Whether the file system is asked again in between or not: nothing is written here, so the free space cannot have
// grown.
TEST(DiskSpace, CountsAnnouncedBytesBeforeTheFileSystemDoes) {
  DiskSpace space({std::filesystem::temp_directory_path()});
  const std::uint64_t before = space.free_after(0);
  EXPECT_EQ(space.free_after(before + (std::uint64_t{1} << 40)), 0u);
}

}  // namespace
}  // namespace restante
