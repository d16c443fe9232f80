#include "agent/landing_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/test_folder.h"
#include "base/text.h"

namespace restante::agent {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

const auto kId = FileId::parse("01890a5d-ac96-774b-bcce-b302099a8057").value();
const fs::path kUploads = fs::path(".molecule") / "chat-uploads";
const std::string kHex = "01890a5dac96774bbcceb302099a8057";

AnnouncedFile announced(const std::string& bytes, std::string name = "a.txt") {
  return {kId, std::move(name), bytes.size(), to_hex(sha256(bytes))};
}

std::optional<std::string> land(const LandingFolder& landing, const AnnouncedFile& announced, std::string_view bytes) {
  auto partial = landing.begin(announced);
  EXPECT_TRUE(partial.has_value()) << partial.error().sentence;
  EXPECT_TRUE(partial->append(bytes).has_value());
  auto landed = landing.finish(std::move(*partial), announced);
  EXPECT_TRUE(landed.has_value()) << landed.error().sentence;
  return landed.has_value() ? *landed : std::nullopt;
}

TEST(LandingFolder, ACompleteFileIsStoredUnderItsIdAndName) {
  const TestFolder folder;
  const LandingFolder landing(folder.path() / "made" / "on demand");
  const auto path = land(landing, announced("hello"), "hello");
  const auto expected = folder / "made" / "on demand" / kUploads / (kHex + "-a.txt");
  ASSERT_EQ(path, expected.string());
  EXPECT_EQ(TestFolder::read(expected), "hello");
  struct stat there{};
  ASSERT_EQ(stat(expected.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0600u);
  EXPECT_THAT(TestFolder::names(expected.parent_path()), ElementsAre(kHex + "-a.txt"));
  EXPECT_EQ(landing.find(announced("hello")).value(), path);
}

TEST(LandingFolder, AnAnnouncedNameNeverLeavesTheFolder) {
  for (const auto& [name, safe] : {std::pair("../../etc/passwd", "passwd"),
                                   {"..", "file"},
                                   {"/", "file"},
                                   {"a\\..\\b", "b"},
                                   {"x\ny", "x_y"},
                                   {"", "file"},
                                   {"-rf", "-rf"}}) {
    const TestFolder folder;
    const auto path = land(LandingFolder(folder.path()), announced("x", name), "x");
    EXPECT_EQ(path, (folder / kUploads / (kHex + "-" + safe)).string()) << name;
  }
}

TEST(LandingFolder, WrongContentDoesNotLandAndLeavesNothing) {
  const TestFolder folder;
  const LandingFolder landing(folder.path());
  EXPECT_EQ(land(landing, announced("hello"), "hellO"), std::nullopt);
  EXPECT_EQ(land(landing, announced("hello"), "hell"), std::nullopt);
  EXPECT_THAT(TestFolder::names(folder / kUploads), ElementsAre());
  EXPECT_EQ(landing.find(announced("hello")).value(), std::nullopt);
}

TEST(LandingFolder, AnInterruptedDownloadContinuesWhereItEnded) {
  const TestFolder folder;
  const LandingFolder landing(folder.path());
  ASSERT_TRUE(landing.begin(announced("hello")).value().append("hel").has_value());
  auto partial = landing.begin(announced("hello"));
  ASSERT_TRUE(partial.has_value());
  EXPECT_EQ(partial->size(), 3u);
  ASSERT_TRUE(partial->append("lo").has_value());
  EXPECT_TRUE(landing.finish(std::move(*partial), announced("hello")).value().has_value());
}

TEST(LandingFolder, APartialFileThatIsTooLongIsBegunAgain) {
  const TestFolder folder;
  const LandingFolder landing(folder.path());
  ASSERT_TRUE(landing.begin(announced("hello")).value().append("longer than announced").has_value());
  EXPECT_EQ(landing.begin(announced("hello")).value().size(), 0u);
  EXPECT_TRUE(land(landing, announced("hello"), "hello"));
}

TEST(LandingFolder, AnotherFileOfThatNameIsNotChanged) {
  const TestFolder folder;
  const LandingFolder landing(folder.path());
  const auto first = land(landing, announced("hello"), "hello").value();
  TestFolder::write(first, "the agent has edited it");
  EXPECT_EQ(landing.find(announced("hello")).value(), std::nullopt);
  const auto second = land(landing, announced("hello"), "hello").value();
  EXPECT_EQ(second, (folder / kUploads / (kHex + "-1-a.txt")).string());
  EXPECT_EQ(TestFolder::read(first), "the agent has edited it");
  EXPECT_EQ(landing.find(announced("hello")).value(), second);
}

TEST(LandingFolder, TheSameFileAgainIsTheSameFile) {
  const TestFolder folder;
  const LandingFolder landing(folder.path());
  const auto first = land(landing, announced("hello"), "hello");
  EXPECT_EQ(land(landing, announced("hello"), "hello"), first);
  EXPECT_THAT(TestFolder::names(folder / kUploads), ElementsAre(kHex + "-a.txt"));
}

TEST(LandingFolder, NothingIsWrittenThroughALinkedFolder) {
  const TestFolder folder, other_folder;
  fs::create_directory_symlink(other_folder.path(), folder.path() / ".molecule");
  const auto refused = LandingFolder(folder.path()).begin(announced("x"));
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().sentence.find("symbolic link"), std::string::npos);
  fs::remove(folder.path() / ".molecule");
  fs::create_directory(folder.path() / ".molecule");
  fs::create_directory_symlink(other_folder.path(), folder / kUploads);
  EXPECT_TRUE(LandingFolder(folder.path()).begin(announced("x")).has_error());
  EXPECT_THAT(TestFolder::names(other_folder.path()), ElementsAre());
}

TEST(LandingFolder, ALinkInPlaceOfTheFileIsNeitherFollowedNorReplaced) {
  const TestFolder folder, other_folder;
  const auto target = other_folder.path() / "precious";
  TestFolder::write(target, "hello");
  fs::create_directories(folder / kUploads);
  fs::create_symlink(target, folder / kUploads / (kHex + "-a.txt"));
  const LandingFolder landing(folder.path());
  EXPECT_EQ(landing.find(announced("hello")).value(), std::nullopt) << "the target of a link is not a landed file";
  EXPECT_EQ(land(landing, announced("hello"), "hello"), (folder / kUploads / (kHex + "-1-a.txt")).string());
  EXPECT_TRUE(fs::is_symlink(folder / kUploads / (kHex + "-a.txt")));
}

TEST(LandingFolder, ALinkInPlaceOfTheTemporaryFileIsNotWrittenThrough) {
  const TestFolder folder, other_folder;
  const auto target = other_folder.path() / "precious";
  TestFolder::write(target, "precious");
  fs::create_directories(folder / kUploads);
  fs::create_symlink(target, folder / kUploads / (".part-" + kHex));
  EXPECT_TRUE(land(LandingFolder(folder.path()), announced("hello"), "hello"));
  fs::create_hard_link(target, folder / kUploads / (".part-" + kHex));
  EXPECT_TRUE(land(LandingFolder(folder.path()), announced("hello"), "hello"));
  EXPECT_EQ(TestFolder::read(target), "precious");
}

TEST(LandingFolder, RenamingWithoutReplacingNeverReplaces) {
  const TestFolder folder;
  TestFolder::write(folder.path() / "a", "a");
  TestFolder::write(folder.path() / "b", "b");
  const auto open = open_root(folder.path());
  ASSERT_TRUE(open.has_value());
  EXPECT_FALSE(rename_without_replacing(open->get(), "a", "b").value());
  EXPECT_EQ(TestFolder::read(folder.path() / "b"), "b");
  EXPECT_TRUE(rename_without_replacing(open->get(), "a", "c").value());
  EXPECT_THAT(TestFolder::names(folder.path()), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace restante::agent
