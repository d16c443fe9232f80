#include "store/dir/blob_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/blocking_scope.h"
#include "base/text.h"
#include "store/blob_key.h"

namespace restante::dir {
namespace {

constexpr std::size_t kLongestMark = 4096;

void give_name(BlobDirectory& directory, const std::string& temporary, Blobs::MarkMode how) {
  const bool replace = how == Blobs::MarkMode::anyway;
  const int code = replace ? renameat(directory.fd(), temporary.c_str(), directory.fd(), kMarkName)
                           : linkat(directory.fd(), temporary.c_str(), directory.fd(), kMarkName, 0);
  const int why = errno;
  if (code != 0 || !replace) unlinkat(directory.fd(), temporary.c_str(), 0);
  errno = why;
  if (code != 0 && (replace || why != EEXIST)) directory.fail("mark the directory of blobs");
}

}  // namespace

BlobDirectory::BlobDirectory(const std::filesystem::path& directory) : path_(directory) {
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail("make the directory of blobs");
  directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) fail("open the directory of blobs");
  make_directory("tmp");
  sync_names(".");
  for (std::size_t i = 0; i < durable_.size(); ++i) {
    durable_[i] = faccessat(fd(), fmt::format("{:02x}", i).c_str(), F_OK, 0) == 0;
  }
}

void BlobDirectory::make_directory(const char* name) {
  if (mkdirat(fd(), name, 0700) != 0 && errno != EEXIST) fail("make a directory of blobs");
}

void BlobDirectory::need_subdirectory(const std::string& name) {
  auto& durable = durable_[static_cast<std::size_t>(hex_digit(name[0]) * 16 + hex_digit(name[1]))];
  if (durable) return;
  // Two threads may do this at once; each syncs before it continues, so neither relies on the other.
  make_directory(name.c_str());
  sync_names(".");
  durable = true;
}

std::vector<std::string> BlobDirectory::names_in(const std::string& subdirectory) {
  Fd opened(openat(fd(), subdirectory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened && errno == ENOENT) return {};
  DIR* entries = opened ? fdopendir(opened.get()) : nullptr;
  if (!entries) fail("read a directory of blobs");
  opened.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(entries, closedir);
  std::vector<std::string> names;
  const auto next = [entries] {
    errno = 0;
    return readdir(entries);
  };
  while (const dirent* entry = next()) {
    const std::string_view name = entry->d_name;
    if (entry->d_type != DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) fail("read a directory of blobs");
  return names;
}

void BlobDirectory::require_healthy() const {
  if (failed_) throw Unavailable("the directory of blobs had an I/O error and needs a restart");
}

void BlobDirectory::require_same_directory() const {
  struct stat now{};
  struct stat opened{};
  if (stat(path_.c_str(), &now) != 0 || fstat(fd(), &opened) != 0 || now.st_dev != opened.st_dev ||
      now.st_ino != opened.st_ino) {
    throw Unavailable("the directory of blobs was moved, replaced or removed");
  }
}

void BlobDirectory::fail(std::string_view doing) {
  const int why = errno;
  const std::string what = fmt::format("cannot {}: {}", doing, std::strerror(why));
  if (why == ENOSPC || why == EDQUOT) throw StorageFull(what);
  if (why == EIO) failed_ = true;
  throw Unavailable(what);
}

void BlobDirectory::write_all(int fd, std::string_view bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write a blob");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
}

void BlobDirectory::sync_data(int fd) {
  const BlockingScope waiting;
  if (fdatasync(fd) == 0) return;
  // With any errno, the kernel may have dropped pages that it could not write.
  const int why = errno;
  if (why != ENOSPC && why != EDQUOT) failed_ = true;
  errno = why;
  fail("sync a blob");
}

void BlobDirectory::sync_names(const char* subdirectory) {
  const Fd names(openat(fd(), subdirectory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names) fail("open a directory of blobs");
  const BlockingScope waiting;
  if (fsync(names.get()) == 0) return;
  const int why = errno;
  failed_ = true;
  errno = why;
  fail("sync a directory of blobs");
}

std::optional<std::string> read_mark(BlobDirectory& directory) {
  directory.require_same_directory();
  const Fd file(openat(directory.fd(), kMarkName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) directory.fail("open the mark of the directory of blobs");
  std::array<char, kLongestMark> text;
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) directory.fail("read the mark of the directory of blobs");
  return std::string(text.data(), static_cast<std::size_t>(got));
}

void write_mark(BlobDirectory& directory, const std::string& text, Blobs::MarkMode how, const Clock& clock) {
  directory.require_healthy();
  directory.require_same_directory();
  const std::string temporary = "tmp/" + new_blob_key(clock.now());
  {
    const Fd file(
        openat(directory.fd(), temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) directory.fail("mark the directory of blobs");
    directory.write_all(file.get(), text, 0);
    directory.sync_data(file.get());
  }
  give_name(directory, temporary, how);
  directory.sync_names(".");
}

}  // namespace restante::dir
