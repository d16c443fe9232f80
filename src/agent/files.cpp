#include "agent/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace restante::agent {

void throw_exception_from_error(const DiskError& error, const boost::source_location&) {
  throw std::logic_error("unchecked error: " + error.sentence);
}

DiskError disk_error(std::string_view what) {
  const int error = errno;
  return {std::string(what) + ": " + std::generic_category().message(error), error};
}

DiskResult<Fd> open_folder(int parent, const std::string& name) {
  const bool made = mkdirat(parent, name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return disk_error("cannot make the folder " + name);
  if (const auto synced = made ? sync_folder(parent) : DiskResult<void>(); synced.has_error()) {
    unlinkat(parent, name.c_str(), AT_REMOVEDIR);  // else the next attempt would find it, and not sync
    return synced.error();
  }
  Fd folder(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) return folder;
  if (errno == ELOOP || errno == ENOTDIR)
    return DiskError{name + " is a symbolic link or no folder; nothing is written through it", ELOOP};
  return disk_error("cannot open the folder " + name);
}

namespace {

// Creates the folders of the path that are missing, from the top. One that cannot be created is found when the last one
// is opened.
DiskResult<void> make_folders(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path made;
  for (const auto& name : path) {
    const auto parent = made.empty() ? std::filesystem::path(".") : made;
    made /= name;
    if (!std::filesystem::create_directory(made, ignored)) continue;
    const Fd folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto synced = folder ? sync_folder(folder.get()) : DiskResult<void>();  // one may write there and not read
    if (synced.has_value()) continue;
    rmdir(made.c_str());
    return synced.error();
  }
  return {};
}

}  // namespace

DiskResult<Fd> open_root(const std::string& path) {
  if (auto made = make_folders(path); made.has_error()) return made.error();
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return disk_error("cannot open the folder " + path);
  return folder;
}

DiskResult<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return disk_error("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

DiskResult<void> sync_file(int fd) {
#ifdef F_FULLFSYNC
  if (fcntl(fd, F_FULLFSYNC) == 0) return {};
#endif
  if (fsync(fd) != 0) return disk_error("cannot write through to the disk");
  return {};
}

DiskResult<void> sync_folder(int fd) {
  if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return {};
  return disk_error("cannot write the names in a folder through to the disk");
}

DiskResult<bool> rename_without_replacing(int folder, const std::string& from, const std::string& to) {
#ifdef RENAME_NOREPLACE
  if (renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
#endif
  if (linkat(folder, from.c_str(), folder, to.c_str(), 0) == 0) {
    unlinkat(folder, from.c_str(), 0);
    return true;
  }
  if (errno == EEXIST) return false;
  // A file system with neither call: checking first is not atomic, but the name contains a random id that only we use.
  struct stat there{};
  if (fstatat(folder, to.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return false;
  if (errno != ENOENT || renameat(folder, from.c_str(), folder, to.c_str()) != 0) return disk_error("cannot rename");
  return true;
}

DiskResult<void> replace_file(int folder, const std::string& name, std::string_view contents) {
  const auto temporary = "." + name + ".new";
  unlinkat(folder, temporary.c_str(), 0);
  const Fd file(openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return disk_error("cannot write " + name);
  if (auto written = write_all(file.get(), contents); written.has_error()) return written;
  if (auto synced = sync_file(file.get()); synced.has_error()) return synced;
  if (renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) return disk_error("cannot write " + name);
  return sync_folder(folder);
}

DiskResult<std::optional<std::string>> read_file(int folder, const std::string& name, std::size_t max) {
  using Read = DiskResult<std::optional<std::string>>;
  const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return Read(std::nullopt);
  if (!file) return disk_error("cannot read " + name);
  struct stat there{};
  if (fstat(file.get(), &there) != 0) return disk_error("cannot read " + name);
  if (!S_ISREG(there.st_mode)) return DiskError{name + " is no regular file", EINVAL};
  std::string contents;
  char piece[16384];
  for (;;) {
    const auto bytes = read(file.get(), piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return disk_error("cannot read " + name);
    if (bytes == 0) return Read(std::move(contents));
    contents.append(piece, static_cast<std::size_t>(bytes));
    if (contents.size() > max) return DiskError{name + " is too large", EFBIG};
  }
}

}  // namespace restante::agent
