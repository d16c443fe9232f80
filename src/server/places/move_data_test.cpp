#include "server/places/move_data.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "base/test_folder.h"
#include "store/blobs.h"

namespace restante {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class MoveData : public ::testing::Test {
 protected:
  MoveData() {
    move = {root / "old", root / "new"};
    fs::create_directories(move.from / "blobs");
  }

  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    TestFolder::write(file, text);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  }
  static std::string read(const fs::path& file) { return TestFolder::read(file); }
  static fs::path place(const fs::path& data, const ReferencedBlob& kept) {
    return data / "blobs" / kept.key.substr(30) / kept.key;
  }
  ReferencedBlob keep(char digit, const std::string& content) {
    ReferencedBlob kept{std::string(32, digit), content.size(), sha256(content)};
    write(place(move.from, kept), content);
    all.push_back(kept);
    return kept;
  }
  CopiedData carry() {
    std::uint64_t bytes = 0;
    const auto copied_data = copy_data(move, all, [&](std::uint64_t size) { bytes += size; });
    EXPECT_EQ(bytes, move.to ? copied_data.bytes : 0);
    return copied_data;
  }

  TestFolder root;
  DataMove move;
  std::vector<ReferencedBlob> all;
};

TEST_F(MoveData, FilesSecretsAndTheMarkAreCopiedUnderTheSameNames) {
  const auto a = keep('a', "first"), b = keep('b', std::string(3 << 20, 'x'));
  write(move.from / "blobs" / kMarkName, "mark");
  write(move.from / "admin.token", "secret");
  write(move.from / "server.key", "key");
  const auto copied_data = carry();
  EXPECT_EQ(copied_data.copied, 2u);
  EXPECT_EQ(copied_data.bytes, a.size + b.size);
  EXPECT_EQ(read(place(*move.to, a)), "first");
  EXPECT_EQ(read(place(*move.to, b)).size(), b.size);
  EXPECT_EQ(read(*move.to / "admin.token"), "secret");
  EXPECT_EQ(read(*move.to / "server.key"), "key");
  EXPECT_EQ(read(*move.to / "blobs" / kMarkName), "mark");
  EXPECT_TRUE(fs::is_empty(*move.to / "blobs" / "tmp"));
}

TEST_F(MoveData, ExistingFilesAreComparedAndOnlyWrongOnesAreCopiedAgain) {
  const auto a = keep('a', "first"), b = keep('b', "second");
  carry();
  write(place(*move.to, b), "sec");
  write(*move.to / "blobs" / "tmp" / b.key, "half of it");
  EXPECT_EQ(carry().copied, 1u);
  EXPECT_EQ(read(place(*move.to, b)), "second");
  EXPECT_EQ(carry().copied, 0u);
}

TEST_F(MoveData, LostAndChangedFilesAreCountedAndTheRestIsCopied) {
  const auto a = keep('a', "first"), b = keep('b', "second");
  keep('c', "third");
  fs::remove(place(move.from, a));
  write(place(move.from, b), "SECOND");
  const auto copied_data = carry();
  EXPECT_EQ(copied_data.missing, 1u);
  EXPECT_EQ(copied_data.changed, 1u);
  EXPECT_EQ(copied_data.copied, 2u);
  EXPECT_EQ(read(place(*move.to, b)), "SECOND") << "as it is: the new server detects and reports it";
  EXPECT_FALSE(fs::exists(place(*move.to, a)));
}

TEST_F(MoveData, NothingIsCopiedWhenTheDirectoryStays) {
  const auto a = keep('a', "first"), b = keep('b', "second");
  keep('c', "third");
  fs::remove(place(move.from, a));
  write(place(move.from, b), "short");
  move.to = move.from;
  require_data(move, all);
  for (const auto& to : {std::optional(move.from), std::optional<fs::path>()}) {
    move.to = to;
    const auto copied_data = copy_data(move, all, [](std::uint64_t) {});
    EXPECT_EQ(copied_data.files, 3u);
    EXPECT_EQ(copied_data.copied, 0u);
    EXPECT_EQ(copied_data.missing, 1u);
    EXPECT_EQ(copied_data.changed, 1u);
  }
}

TEST_F(MoveData, DirectoriesThatMustBeAMistakeAreRefused) {
  write(move.from / "admin.token", "ours");
  write(*move.to / "admin.token", "theirs");
  EXPECT_THAT([&] { require_data(move, {}); }, ThrowsMessage<OpenRefused>(HasSubstr("belongs to another server")));
  write(*move.to / "admin.token", "ours");
  EXPECT_NO_THROW(require_data(move, {}));
  write(move.from / "blobs" / kMarkName, "ours");
  write(*move.to / "blobs" / kMarkName, "theirs");
  EXPECT_THAT([&] { require_data(move, {}); }, ThrowsMessage<OpenRefused>(HasSubstr("belongs to another server")));
  write(*move.to / "blobs" / kMarkName, "ours");
  EXPECT_NO_THROW(require_data(move, {}));
  keep('a', "first");
  fs::remove_all(move.from / "blobs");
  EXPECT_THAT([&] { require_data(move, all); }, ThrowsMessage<OpenRefused>(HasSubstr("--data names")));
}

TEST_F(MoveData, ADirectoryThatCannotBeWrittenIsRefusedWithItsName) {
  const auto a = keep('a', "first");
  write(*move.to / "blobs" / "tmp", "a file where a directory should be");
  EXPECT_ANY_THROW(carry());
  fs::remove(*move.to / "blobs" / "tmp");
  fs::create_directories(*move.to / "blobs" / "tmp" / a.key);
  EXPECT_THAT([&] { copy_data(move, all, [](std::uint64_t) {}); }, ThrowsMessage<OpenRefused>(HasSubstr(a.key)));
}

}  // namespace
}  // namespace restante
