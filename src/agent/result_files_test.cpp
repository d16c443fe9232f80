#include "agent/result_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"

namespace restante::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ResultFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() / name) << text; }
  ResultFiles find() const { return find_result_files(folder_.path().string()); }

  TestFolder folder_;
};

TEST_F(ResultFilesTest, OnlyRegularFilesAreSentInTheOrderOfTheirNames) {
  write("b.txt", "bb");
  write("a.txt", "a");
  write("empty", "");
  std::filesystem::create_directory(folder_.path() / "folder");
  std::filesystem::create_symlink("/etc/hostname", folder_.path() / "link");
  ASSERT_EQ(mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  write("x\ny", "");
  const auto found = find();
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_EQ(found.files[0].path, (folder_.path() / "a.txt").string());
  EXPECT_EQ(found.files[1].size, 2u);
  EXPECT_THAT(found.refused, ElementsAre("empty: is empty", "folder: is a folder", "link: is a symbolic link",
                                         "pipe: is no regular file", "x?y: is empty"));
}

TEST_F(ResultFilesTest, NoMoreFilesAreSentThanOneMessageMayHave) {
  for (std::size_t i = 0; i < kMostResultFiles + 2; ++i) write("f" + std::to_string(i), "x");
  const auto found = find();
  EXPECT_EQ(found.files.size(), kMostResultFiles);
  EXPECT_EQ(found.refused.size(), 2u);
}

TEST_F(ResultFilesTest, AMissingFolderHasNoFilesAndADiscardedOneIsDeleted) {
  const auto none = find_result_files((folder_.path() / "none").string());
  EXPECT_THAT(none.files, IsEmpty());
  EXPECT_THAT(none.refused, IsEmpty());
  std::filesystem::create_directories(folder_.path() / "gone" / "deep");
  std::filesystem::create_symlink(folder_.path() / "kept", folder_.path() / "gone" / "link");
  write("kept", "x");
  discard_folder((folder_.path() / "gone").string());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "gone"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "kept"));
}

}  // namespace
}  // namespace restante::agent
