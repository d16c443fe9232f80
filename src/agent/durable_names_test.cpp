// What is on the disk when a file counts as landed, and what happens when the disk refuses to write it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>

#include "agent/file_downloader.h"
#include "agent/state_directory.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace {

// Of every call of fsync() in this program: which files it was called for, and the errno with which it fails for
// folders.
std::mutex synced_mutex;
std::set<ino_t> synced_inodes;
std::atomic<int> folder_error{0};
std::atomic<int> file_error{0};

}  // namespace

// Replaces libc's function in the whole test program.
extern "C" int fsync(int fd) {
  struct stat there{};
  if (fstat(fd, &there) == 0) {
    const std::lock_guard lock(synced_mutex);
    if (const int error = S_ISDIR(there.st_mode) ? folder_error : file_error; error != 0) {
      errno = error;
      return -1;
    }
    synced_inodes.insert(there.st_ino);
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace restante::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

const auto kId = FileId::parse("01890a5d-ac96-774b-bcce-b302099a8057").value();
const std::string kHex = "01890a5dac96774bbcceb302099a8057";

class DurableNames : public testing::Test {
 protected:
  DurableNames() { forget(); }
  ~DurableNames() override { folder_error = file_error = 0; }

  static void forget() {
    const std::lock_guard lock(synced_mutex);
    synced_inodes.clear();
  }
  static bool synced(const fs::path& path) {
    struct stat there{};
    EXPECT_EQ(stat(path.c_str(), &there), 0) << path;
    const std::lock_guard lock(synced_mutex);
    return synced_inodes.contains(there.st_ino);
  }
  DiskResult<std::optional<std::string>> land() const {
    auto partial = landing_.begin(announced_);
    if (partial.has_error()) return partial.error();
    if (partial->size() == 0) {
      EXPECT_TRUE(partial->append("hello").has_value());
    }
    return landing_.finish(std::move(*partial), announced_);
  }

  TestFolder folder_;
  const fs::path dir_ = folder_ / "made/dir";
  const fs::path uploads_ = dir_ / ".molecule" / "chat-uploads";
  const fs::path file_ = uploads_ / (kHex + "-a.txt");
  LandingFolder landing_{dir_.string()};
  AnnouncedFile announced_{kId, "a.txt", 5, to_hex(sha256("hello"))};
};

TEST_F(DurableNames, AFileHasLandedWhenItAndEveryNameOnTheWayToItAreSynced) {
  EXPECT_EQ(land().value(), file_.string());
  for (const auto& path : {file_, uploads_, dir_ / ".molecule", dir_, folder_ / "made", folder_.path()})
    EXPECT_TRUE(synced(path)) << path;
}

TEST_F(DurableNames, AFileThatIsFoundIsSyncedLikeOneThatHasJustLanded) {
  ASSERT_TRUE(land().value());
  forget();
  EXPECT_EQ(landing_.find(announced_).value(), file_.string());
  for (const auto& path : {file_, uploads_, dir_ / ".molecule", dir_}) EXPECT_TRUE(synced(path)) << path;
  forget();
  EXPECT_EQ(land().value(), file_.string()) << "fetched again, and the same file is there";
  for (const auto& path : {file_, uploads_, dir_ / ".molecule", dir_}) EXPECT_TRUE(synced(path)) << path;
}

TEST_F(DurableNames, AFolderThatCannotBeSyncedIsAFailureAndTheNameIsWrittenAgain) {
  ASSERT_TRUE(landing_.find(announced_).has_value());  // makes the folders
  folder_error = EIO;
  EXPECT_EQ(land().error().error, EIO);
  EXPECT_THAT(TestFolder::names(uploads_), ElementsAre(".part-" + kHex)) << "not under its name";
  folder_error = 0;
  EXPECT_EQ(landing_.begin(announced_).value().size(), 5u) << "nothing has to be fetched again";
  EXPECT_EQ(land().value(), file_.string());
  folder_error = ENOSPC;
  EXPECT_EQ(landing_.find(announced_).error().error, ENOSPC);
  folder_error = 0;
  EXPECT_EQ(landing_.find(announced_).value(), std::nullopt);
  EXPECT_EQ(land().value(), file_.string());
}

TEST_F(DurableNames, AFoundFileWhoseContentCannotBeSyncedIsFetchedAgain) {
  ASSERT_TRUE(land().value());
  file_error = EIO;
  EXPECT_EQ(landing_.find(announced_).error().error, EIO);
  file_error = 0;
  EXPECT_THAT(TestFolder::names(uploads_), IsEmpty());
}

TEST_F(DurableNames, AFileWhoseNameCannotBeSyncedHasNotLandedAndIsNotAcked) {
  ASSERT_TRUE(land().value());
  folder_error = EIO;
  ApiClient api(client::parse_url("http://127.0.0.1:9").value(), "token");
  FileRecord record;
  record.announced = announced_;
  EXPECT_EQ(FileDownloader(api, landing_).download(record), FileDownloader::DownloadResult::trouble);
  EXPECT_EQ(record.where, FileRecord::Where::waiting) << "only a landed file is acked";
  EXPECT_NE(record.reason.find("through to the disk"), std::string::npos) << record.reason;
}

TEST_F(DurableNames, AFolderThatWasMadeAndCannotBeSyncedIsMadeAgain) {
  folder_error = EIO;
  EXPECT_TRUE(landing_.begin(announced_).has_error());
  EXPECT_THAT(TestFolder::names(folder_.path()), IsEmpty());
  folder_error = 0;
  fs::create_directories(dir_);
  folder_error = EIO;
  EXPECT_TRUE(landing_.begin(announced_).has_error());
  EXPECT_THAT(TestFolder::names(dir_), IsEmpty());
}

TEST_F(DurableNames, AFileSystemThatCannotSyncFoldersIsUsedAsItIs) {
  for (const int error : {EINVAL, ENOTSUP, ENOSYS}) {
    folder_error = error;
    EXPECT_EQ(land().value(), file_.string()) << error;
  }
}

TEST_F(DurableNames, AStateOrTokenWhoseNameCannotBeSyncedIsNotKept) {
  auto directory = StateDirectory::open(folder_.string());
  ASSERT_TRUE(directory.has_value());
  folder_error = EIO;
  EXPECT_EQ(directory->keep_token("secret").error().error, EIO);
  EXPECT_EQ(directory->save(State()).error().error, EIO);
  folder_error = 0;
  EXPECT_TRUE(directory->save(State()).has_value());
}

}  // namespace
}  // namespace restante::agent
