// A directory of blobs when the file system fails, call by call.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "faults.h"
#include "store/dir/blobs.h"

namespace restante::testing {
namespace {

namespace fs = std::filesystem;
using dir::TemporaryNames;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class BlobFaults : public ::testing::TestWithParam<TemporaryNames> {
 protected:
  BlobFaults() { reopen(); }

  void reopen() {
    blobs.reset();
    blobs = dir::open(path, GetParam());
  }
  std::string put(std::string_view bytes) {
    auto writer = blobs->put();
    writer->write(bytes);
    return writer->finish();
  }
  // All subdirectories exist and are known to be durable: then putting a blob needs one sync of names.
  void make_subdirectories() {
    for (int i = 0; i < 256; ++i) {
      char name[3];
      std::snprintf(name, sizeof name, "%02x", static_cast<unsigned>(i));
      fs::create_directory(path / name);
    }
    reopen();
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path)) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
  std::size_t unfinished_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path / "tmp"), {}));
  }
  static Time wall_clock() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  }

  TestFolder directory;
  const fs::path path = directory / "blobs";
  std::unique_ptr<Blobs> blobs;
};
INSTANTIATE_TEST_SUITE_P(TemporaryNames, BlobFaults,
                         ::testing::Values(TemporaryNames::unnamed_if_possible, TemporaryNames::named),
                         [](const auto& test) { return test.param == TemporaryNames::named ? "Named" : "Unnamed"; });

TEST_P(BlobFaults, WithoutLinkatAFileHasANameFromTheStart) {
  {
    const Fault fault(Call::link_at, ENOENT);  // as without /proc
    reopen();
    EXPECT_EQ(fault.hits(), GetParam() == TemporaryNames::named ? 0 : 1);
  }
  auto writer = blobs->put();
  EXPECT_EQ(unfinished_files(), 1u);
  writer->write("hello");
  EXPECT_TRUE(blobs->open(writer->finish()));
  EXPECT_EQ(unfinished_files(), 0u);
}

TEST_P(BlobFaults, AFullDiskAtTheProbeDoesNotChangeTheMode) {
  {
    const Fault fault(Call::write, ENOSPC);
    EXPECT_NO_THROW(reopen());
  }
  const auto writer = blobs->put();
  EXPECT_EQ(unfinished_files(), GetParam() == TemporaryNames::named ? 1u : 0u);
}

TEST_P(BlobFaults, AnIoErrorAtTheProbeIsReportedAndNotWorkedAround) {
  if (GetParam() == TemporaryNames::named) return;  // nothing is probed there
  const Fault fault(Call::sync, EIO, 1);            // the first sync is of the directory itself
  EXPECT_THROW(reopen(), Unavailable);
  EXPECT_EQ(fault.hits(), 1);
}

TEST_P(BlobFaults, APathThatIsNoDirectoryIsUnavailable) {
  std::ofstream(directory / "file") << "x";
  EXPECT_THROW(dir::open(directory / "file", GetParam()), Unavailable);
}

TEST_P(BlobFaults, ABlobThatCannotBeOpenedIsNotTakenForAbsent) {
  std::ofstream(path / "aa") << "a file where a directory belongs";
  EXPECT_THAT([&] { blobs->open(std::string(32, 'a')); }, ThrowsMessage<Unavailable>(HasSubstr("open a blob")));
}

TEST_P(BlobFaults, ABlobThatCannotBeBegunIsUnavailable) {
  {
    const Fault fault(Call::open_at, EMFILE);
    EXPECT_THROW(blobs->put(), Unavailable);
  }
  EXPECT_NO_THROW(put("again"));
}

TEST_P(BlobFaults, AFinishedBlobTakesNoMore) {
  auto writer = blobs->put();
  writer->write("all");
  const auto key = writer->finish();
  EXPECT_THROW(writer->write("more"), std::logic_error);
  EXPECT_THROW(writer->finish(), std::logic_error);
  EXPECT_EQ(files(), 1u);
}

TEST_P(BlobFaults, WhicheverCallFailsInFinishNothingIsLeftAndTheNextBlobWorks) {
  struct Case {
    const char* name;
    Call call;
    int error;
    bool full;
  };
  const Case kCases[] = {
      {"the blob's name, no room", Call::link_at, ENOSPC, true},
      {"the blob's name", Call::link_at, EMLINK, false},
      {"a subdirectory, no room", Call::make_directory_at, EDQUOT, true},
      {"a subdirectory", Call::make_directory_at, EACCES, false},
      {"opening the subdirectory", Call::open_at, EMFILE, false},
      {"the content's sync, no room", Call::sync, ENOSPC, true},
      {"the content's sync, over quota", Call::sync, EDQUOT, true},
  };
  for (const Case& one : kCases) {
    // A key may belong to a subdirectory that exists already: then none is made, and another key is tried.
    for (bool failed = false; !failed;) {
      auto writer = blobs->put();
      writer->write("lost");
      const Fault fault(one.call, one.error);
      try {
        const std::string key = writer->finish();
        ASSERT_TRUE(one.call == Call::make_directory_at && fault.hits() == 0) << one.name;
        blobs->drop(key);
      } catch (const StorageFull&) {
        EXPECT_TRUE(one.full) << one.name;
        failed = true;
      } catch (const Unavailable&) {
        EXPECT_FALSE(one.full) << one.name;
        failed = true;
      }
      EXPECT_EQ(failed, fault.hits() > 0) << one.name;
    }
    EXPECT_EQ(files(), 0u) << one.name;
    EXPECT_NO_THROW(blobs->check()) << one.name;
  }
}

TEST_P(BlobFaults, ANameThatCannotBeSyncedIsRemovedAgain) {
  make_subdirectories();
  {
    const Fault fault(Call::sync, EIO, 1);  // the first sync is of the content
    EXPECT_THROW(put("lost"), Unavailable);
    EXPECT_EQ(fault.hits(), 1);
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_THROW(blobs->check(), Unavailable) << "until a restart";
}

TEST_P(BlobFaults, ReservedSpaceThatCannotBeReleasedFailsTheBlob) {
  auto writer = blobs->put();
  writer->write(std::string(3 << 20, 'x'));
  const Fault fault(Call::truncate, EACCES);
  EXPECT_THROW(writer->finish(), Unavailable);
  EXPECT_EQ(fault.hits(), 1);
  writer.reset();
  EXPECT_EQ(files(), 0u);
}

TEST_P(BlobFaults, AnInterruptedWriteContinues) {
  const Fault fault(Call::write, EINTR, 0, 3);
  const auto blob = blobs->open(put("hello"));
  EXPECT_EQ(fault.hits(), 3);
  char bytes[10];
  EXPECT_EQ(::pread(blob->fd(), bytes, sizeof bytes, 0), 5);
}

TEST_P(BlobFaults, AnInterruptedReadContinuesAndAFailedOneIsNotTakenForTheEnd) {
  const auto blob = blobs->open(put("hello"));
  std::string bytes(10, '\0');
  {
    const Fault fault(Call::read, EINTR, 0, 3);
    EXPECT_EQ(blob->read(0, bytes), 5u);
    EXPECT_EQ(fault.hits(), 3);
  }
  {
    const Fault fault(Call::read, EIO);
    EXPECT_THROW(blob->read(0, bytes), Unavailable);
  }
  EXPECT_EQ(blob->read(1, bytes), 4u) << "each read tries again";
}

TEST_P(BlobFaults, AFileWhoseSizeCannotBeReadIsUnavailable) {
  const auto blob = blobs->open(put("hello"));
  {
    const Fault fault(Call::look_at_open, ESTALE);
    EXPECT_THROW(blob->size(), Unavailable);
    EXPECT_THROW(blobs->check(), Unavailable) << "nor can the directory be checked";
  }
  EXPECT_EQ(blob->size(), 5u);
  EXPECT_NO_THROW(blobs->check());
}

TEST_P(BlobFaults, AMarkIsWrittenWholeOrNotAtAllAndAFailureIsNotTakenForNoMark) {
  using MarkMode = Blobs::MarkMode;
  EXPECT_EQ(blobs->mark(), std::nullopt);
  for (const Call call : {Call::open_at, Call::write, Call::link_at, Call::sync}) {
    const Fault fault(call, EACCES);
    EXPECT_THROW(blobs->put_mark("lost", MarkMode::if_there_is_none), Unavailable) << static_cast<int>(call);
    EXPECT_EQ(fault.hits(), 1) << static_cast<int>(call);
  }
  reopen();  // a failed sync is remembered until then
  EXPECT_EQ(blobs->mark(), std::nullopt);
  blobs->put_mark("first", MarkMode::if_there_is_none);
  blobs->put_mark("second", MarkMode::if_there_is_none);
  EXPECT_EQ(blobs->mark(), "first");
  blobs->put_mark("third", MarkMode::anyway);
  EXPECT_EQ(blobs->mark(), "third");
  for (const Call call : {Call::open_at, Call::read}) {
    const Fault fault(call, EACCES);
    EXPECT_THROW(blobs->mark(), Unavailable) << static_cast<int>(call);
  }
  fs::remove(path / kMarkName);
  fs::create_directory(path / kMarkName);
  EXPECT_THROW(blobs->mark(), Unavailable) << "a directory in the place of the mark";
  EXPECT_THROW(blobs->put_mark("fourth", MarkMode::anyway), Unavailable);
}

TEST_P(BlobFaults, ASubdirectoryThatCannotBeReadIsNotTakenForAnEmptyOne) {
  const auto key = put("x");
  {
    const Fault fault(Call::list, EIO);
    EXPECT_THROW(blobs->list(key.substr(30), Time::max()), Unavailable);
  }
  reopen();
  // Opening has made some to probe the file system: take one that does not exist.
  const std::vector<std::string> some = {"00", "01", "02", "03"};
  const auto absent = *std::ranges::find_if(some, [&](const std::string& name) { return !fs::exists(path / name); });
  EXPECT_TRUE(blobs->list(absent, Time::max()).keys.empty()) << "a missing subdirectory is empty";
  std::ofstream(path / absent) << "a file where a directory belongs";
  EXPECT_THROW(blobs->list(absent, Time::max()), Unavailable);
}

TEST_P(BlobFaults, AnotherFileSystemUnderThePathIsNoticed) {
  fs::rename(path, directory / "elsewhere");
  fs::create_directory_symlink("/proc", path);
  EXPECT_THROW(blobs->check(), Unavailable);
}

TEST_P(BlobFaults, FilesThatVanishOrCannotBeDeletedAreNotCountedAsDropped) {
  const Time later = wall_clock() + std::chrono::hours(1);
  fs::create_directory(path / "tmp" / "somebody's");
  std::ofstream(path / "tmp" / "one") << "x";
  {
    const Fault fault(Call::look, ENOENT);
    EXPECT_EQ(blobs->drop_unfinished(later), 0u);
    EXPECT_EQ(fault.hits(), 1) << "a folder is not looked at";
  }
  EXPECT_EQ(blobs->drop_unfinished(later), 1u);
  EXPECT_TRUE(fs::exists(path / "tmp" / "somebody's"));
}

}  // namespace
}  // namespace restante::testing
