#include "server/platform/file_times.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/test_folder.h"

namespace restante {
namespace {

TEST(FileTimes, TheNewestFileOfTheDatabaseCounts) {
  const TestFolder folder;
  EXPECT_FALSE(newest_file_time(folder / "restante.db"));
  const auto put = [&](const char* name, std::time_t at) {
    std::ofstream(folder / name) << "x";
    const timespec times[2] = {{at, 0}, {at, 500'000'000}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
  };
  put("other", 900);
  EXPECT_FALSE(newest_file_time(folder / "restante.db"));
  put("restante.db", 100);
  put("restante.db-wal", 200);
  EXPECT_EQ(newest_file_time(folder / "restante.db"), Time(std::chrono::milliseconds(200'500)));
}

TEST(FileTimes, TheFileSystemsTimeIsThatOfAFileThatLeavesNothingBehind) {
  const TestFolder folder;
  const auto now = file_system_time(folder.path());
  if (!now) GTEST_SKIP() << "this file system has no files without a name";
  EXPECT_LT(std::chrono::abs(*now - SystemClock().now()), std::chrono::minutes(5));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(file_system_time(folder / "none"));
}

}  // namespace
}  // namespace restante
