// What only files can do. What every place for blobs promises is in blobs_suite.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/test_clock.h"
#include "base/test_folder.h"
#include "faults.h"
#include "store/dir/blobs.h"

namespace restante::testing {
namespace {

namespace fs = std::filesystem;
using dir::TemporaryNames;

class DirBlobs : public ::testing::TestWithParam<TemporaryNames> {
 protected:
  DirBlobs() : blobs(dir::open(path, GetParam())) {}

  std::string put(std::string_view bytes) {
    auto writer = blobs->put();
    writer->write(bytes);
    return writer->finish();
  }
  static std::string content(const OpenBlob& blob) {
    std::string bytes;
    char buffer[65536];
    for (ssize_t size = 0; (size = pread(blob.fd(), buffer, sizeof buffer, static_cast<off_t>(bytes.size()))) > 0;) {
      bytes.append(buffer, static_cast<std::size_t>(size));
    }
    return bytes;
  }
  // Every file below the directory, whatever its name.
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path)) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  TestFolder directory;
  const fs::path path = directory / "blobs";
  std::unique_ptr<Blobs> blobs;
};
INSTANTIATE_TEST_SUITE_P(TemporaryNames, DirBlobs,
                         ::testing::Values(TemporaryNames::unnamed_if_possible, TemporaryNames::named),
                         [](const auto& test) { return test.param == TemporaryNames::named ? "Named" : "Unnamed"; });

TEST_P(DirBlobs, SizesAroundEveryStepTakeNoMoreRoomThanTheyNeed) {
  for (const std::size_t size :
       {0u, 1u, 4096u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, (4u << 20) + 3, 26'214'400u}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
    auto writer = blobs->put();
    for (std::size_t at = 0; at < size; at += 200'000) writer->write(std::string_view(bytes).substr(at, 200'000));
    const auto blob = blobs->open(writer->finish());
    EXPECT_TRUE(content(*blob) == bytes) << size;
    struct stat info{};
    ASSERT_EQ(fstat(blob->fd(), &info), 0);
    EXPECT_LE(static_cast<std::size_t>(info.st_blocks) * 512, size + 65536) << "reserved space is released";
  }
}

TEST_P(DirBlobs, AFileIsStoredUnderItsKeyInASubdirectory) {
  const auto key = put("here");
  EXPECT_TRUE(fs::exists(path / key.substr(30) / key));
}

TEST_P(DirBlobs, ADroppedBlobIsDeletedButStaysReadableWhereItIsOpen) {
  const auto key = put("still here");
  const auto open = blobs->open(key);
  blobs->drop(key);
  EXPECT_EQ(blobs->open(key), nullptr);
  EXPECT_EQ(content(*open), "still here");
  EXPECT_EQ(files(), 0u);
}

TEST_P(DirBlobs, AnUnfinishedBlobLeavesNothing) {
  {
    auto writer = blobs->put();
    writer->write(std::string(3 << 20, 'x'));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_P(DirBlobs, AKilledProcessLeavesNoVisiblePartOfABlob) {
  blobs.reset();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto mine = dir::open(path, GetParam());
    auto done = mine->put();
    done->write("complete");
    const auto key = done->finish();
    auto half = mine->put();
    half->write(std::string(3 << 20, 'x'));
    if (write(ends[1], key.data(), key.size()) != 32) _exit(1);
    pause();
  }
  std::string key(32, '\0');
  ASSERT_EQ(read(ends[0], key.data(), key.size()), 32);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  blobs = dir::open(path, GetParam());
  // A named temporary file may belong to another server that still writes it; once it is old enough it does not.
  EXPECT_EQ(files(), GetParam() == TemporaryNames::named ? 2u : 1u);
  blobs->drop_unfinished(std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()) +
                         std::chrono::hours(1));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(content(*blobs->open(key)), "complete");
}

TEST_P(DirBlobs, AFullDiskIsReportedLeavesNothingAndWritesWorkAgainOnceThereIsRoom) {
  const std::string piece(256 << 10, 'p');  // as much as is buffered before a write
  for (const int error : {ENOSPC, EDQUOT}) {
    for (const int skipped : {0, 1, 2, 3}) {
      const Fault fault(Call::write, error, skipped);
      auto writer = blobs->put();
      EXPECT_THROW(for (int i = 0; i < 3; ++i) writer->write(piece); writer->write("rest");
                   writer->finish(), StorageFull);
      EXPECT_THROW(writer->finish(), std::logic_error) << "a blob that failed cannot be finished";
    }
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_NO_THROW(blobs->check());
  EXPECT_TRUE(blobs->open(put("room again")));
}

TEST_P(DirBlobs, AFailedSyncLeavesNothingAndNothingIsWrittenUntilARestart) {
  const auto before = put("before");
  // The content's sync is the first; the syncs of the directories follow.
  for (const int skipped : {0, 1}) {
    {
      const Fault fault(Call::sync, EIO, skipped);
      EXPECT_THROW(put("lost"), Unavailable);
      EXPECT_EQ(fault.hits(), 1);
    }
    EXPECT_EQ(files(), 1u);
    EXPECT_THROW(blobs->check(), Unavailable);
    EXPECT_THROW(blobs->put(), Unavailable);
    EXPECT_TRUE(blobs->open(before)) << "reading goes on";
    blobs.reset();
    blobs = dir::open(path, GetParam());
    EXPECT_NO_THROW(blobs->check());
  }
}

TEST_P(DirBlobs, AnIoErrorAtAWriteEndsWritingForBlobsThatWereBegunToo) {
  auto other = blobs->put();
  {
    const Fault fault(Call::write, EIO);
    EXPECT_THROW(put("lost"), Unavailable);
  }
  EXPECT_THROW(other->write("x"), Unavailable);
  EXPECT_THROW(other->finish(), Unavailable);
}

TEST_P(DirBlobs, CheckLeavesNothingBehindAndNoticesThatTheDirectoryWasReplaced) {
  blobs->check();
  EXPECT_EQ(files(), 0u);
  fs::rename(path, directory / "elsewhere");
  EXPECT_THROW(blobs->check(), Unavailable);
  fs::create_directory(path);
  EXPECT_THROW(blobs->check(), Unavailable) << "another directory under the same path is not ours";
  EXPECT_THROW(blobs->open(std::string(32, 'a')), Unavailable) << "a missing blob proves nothing there";
}

TEST_P(DirBlobs, WhatIsNoRegularFileIsNoBlobAndNothingWaitsForIt) {
  const auto make = {
      +[](const char* name) { return mkfifo(name, 0600); },
      +[](const char* name) { return mkdir(name, 0700); },
      +[](const char* name) { return symlink("/etc/passwd", name); },
      +[](const char* name) { return mknod(name, S_IFSOCK | 0600, 0); },
  };
  for (const auto& one : make) {
    const auto key = put("x");
    const fs::path file = path / key.substr(30) / key;
    fs::remove(file);
    ASSERT_EQ(one(file.c_str()), 0);
    EXPECT_FALSE(blobs->open(key));
    const bool folder = fs::is_directory(fs::symlink_status(file));
    const auto listed = blobs->list(key.substr(30), Time::max()).keys;
    EXPECT_EQ(std::ranges::count(listed, key), folder ? 0 : 1);
    EXPECT_NO_THROW(blobs->drop(key));
    EXPECT_EQ(fs::exists(fs::symlink_status(file)), folder);
  }
  EXPECT_EQ(content(*blobs->open(put("a blob"))), "a blob");
}

TEST_P(DirBlobs, AMarkThatIsNoRegularFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((path / kMarkName).c_str(), 0600), 0);
  EXPECT_THROW(blobs->mark(), Unavailable);
}

TEST_P(DirBlobs, AllBlobsAreListedStepByStepAndOnlyThem) {
  std::set<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.insert(put("x"));
  const auto dropped = *keys.begin();
  blobs->drop(dropped);
  keys.erase(dropped);
  auto unfinished = blobs->put();
  unfinished->write("not yet");
  // Files of other programs are not listed.
  std::ofstream(path / keys.begin()->substr(30) / "notes.txt") << "x";
  std::ofstream(path / std::string(32, 'a')) << "x";
  std::set<std::string> listed;
  std::size_t largest = 0;
  std::string from;
  do {
    const auto page = blobs->list(from, Time::max());
    for (const auto& key : page.keys) EXPECT_TRUE(listed.insert(key).second) << "listed twice";
    largest = std::max(largest, page.keys.size());
    from = page.next;
  } while (!from.empty());
  EXPECT_EQ(listed, keys);
  EXPECT_LT(largest, 30u) << "a step is a small part of all";
}

TEST_P(DirBlobs, AnUnfinishedFileOfADeadProcessIsDroppedOnceItIsOld) {
  const auto key = put("finished");
  const auto left = path / "tmp" / std::string(32, 'b');
  std::ofstream(left) << "left behind";
  const Time now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  EXPECT_EQ(blobs->drop_unfinished(now - std::chrono::hours(1)), 0u);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(blobs->count_unfinished(now - std::chrono::hours(1)), 0u);
  EXPECT_EQ(blobs->count_unfinished(now + std::chrono::hours(1)), 1u);
  EXPECT_EQ(blobs->drop_unfinished(now + std::chrono::hours(1)), 1u);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(blobs->open(key));
}

// The clock that the servers share may be far from this machine's.
TEST_P(DirBlobs, AgeIsMeasuredByTheGivenClockNotByTheSystems) {
  using std::chrono::hours;
  for (const auto away : {hours(24 * 1000), -hours(24 * 1000)}) {
    ManualClock clock(SystemClock().now() + away);
    blobs = dir::open(path, GetParam(), clock);
    const auto key = put("just now");
    const auto left = path / "tmp" / std::string(32, 'b');
    std::ofstream(left) << "left behind";
    const auto listed = [&](Time before) {
      std::size_t count = 0;
      std::string from;
      do {
        const auto page = blobs->list(from, before);
        count += page.keys.size();
        from = page.next;
      } while (!from.empty());
      return count;
    };
    EXPECT_EQ(listed(clock.now() - hours(1)), 0u);
    EXPECT_EQ(blobs->count_unfinished(clock.now() - hours(1)), 0u);
    clock.advance(hours(2));
    EXPECT_EQ(listed(clock.now() - hours(1)), 1u);
    blobs->drop(key);
    fs::remove(left);
  }
}

TEST_P(DirBlobs, ListingNoticesThatTheDirectoryIsMissing) {
  put("x");
  fs::rename(path, directory / "elsewhere");
  fs::create_directory(path);
  EXPECT_THROW(blobs->list("", Time::max()), Unavailable) << "a missing directory must not pass for an empty one";
}

TEST_P(DirBlobs, ManyThreadsPutAndDropAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string bytes = std::to_string(t * 100 + i);
        const auto key = put(bytes);
        EXPECT_EQ(content(*blobs->open(key)), bytes);
        if (i % 2 == 0) blobs->drop(key);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(files(), 80u);
}

TEST_P(DirBlobs, ADirectoryThatCannotBeMadeIsUnavailable) {
  EXPECT_THROW(dir::open(directory / "no" / "such" / "place", GetParam()), Unavailable);
}

}  // namespace
}  // namespace restante::testing
