#include "agent/landing_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "model/upload_names.h"

namespace restante::agent {
namespace {

constexpr int kMaxSameNames = 9;

std::string nth_name(const AnnouncedFile& announced, int n) {
  const auto safe = sanitise_filename(announced.name);
  return n == 0 ? announced.landed_name() : announced.id.uuid().hex() + "-" + std::to_string(n) + "-" + safe;
}

std::string temporary_name(const AnnouncedFile& announced) { return ".part-" + announced.id.uuid().hex(); }

// Hashes from the current offset to the end; false when it cannot be read.
bool hash_rest(int fd, Sha256& hash, std::uint64_t& bytes) {
  std::vector<char> piece(128 * 1024);
  for (;;) {
    const auto got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    hash.update({piece.data(), static_cast<std::size_t>(got)});
    bytes += static_cast<std::uint64_t>(got);
  }
}

bool is_ours(int fd) {
  struct stat there{};
  return fstat(fd, &there) == 0 && S_ISREG(there.st_mode) && there.st_nlink == 1 && there.st_uid == geteuid();
}

}  // namespace

std::string AnnouncedFile::landed_name() const { return id.uuid().hex() + "-" + sanitise_filename(name); }

DiskResult<void> Partial::append(std::string_view bytes) {
  if (auto written = write_all(file_.get(), bytes); written.has_error()) return written;
  hash_.update(bytes);
  size_ += bytes.size();
  return {};
}

DiskResult<void> Partial::restart() {
  if (ftruncate(file_.get(), 0) != 0 || lseek(file_.get(), 0, SEEK_SET) != 0)
    return disk_error("cannot start a file again");
  hash_ = Sha256();
  size_ = 0;
  return {};
}

DiskResult<Fd> LandingFolder::open() const {
  // Opened again each time: a folder may have been moved or removed since the last file.
  auto root = open_root(dir_);
  if (root.has_error()) return root.error();
  auto molecule = open_folder(root->get(), ".molecule");
  if (molecule.has_error()) return molecule.error();
  return open_folder(molecule->get(), "chat-uploads");
}

std::string LandingFolder::path_of(const std::string& name) const {
  std::error_code error;
  auto root = std::filesystem::canonical(dir_, error);
  if (error) root = std::filesystem::absolute(dir_, error);
  return (root / ".molecule" / "chat-uploads" / name).string();
}

DiskResult<void> LandingFolder::check() const {
  const auto folder = open();
  if (folder.has_error()) return folder.error();
  if (faccessat(folder->get(), ".", W_OK | X_OK, AT_EACCESS) != 0) return disk_error("cannot write to " + path());
  return {};
}

std::string LandingFolder::path() const {
  auto path = path_of("");
  path.pop_back();  // the slash
  return path;
}

bool LandingFolder::holds(int folder, const std::string& name, const AnnouncedFile& announced) {
  const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat there{};
  if (!file || fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode)) return false;
  if (static_cast<std::uint64_t>(there.st_size) != announced.size) return false;
  if (announced.sha256.empty()) return true;
  Sha256 hash;
  std::uint64_t bytes = 0;
  return hash_rest(file.get(), hash, bytes) && equal_ignoring_case(to_hex(hash.finish()), announced.sha256);
}

DiskResult<void> LandingFolder::sync_found(int folder, const std::string& name, const AnnouncedFile& announced) {
  const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return disk_error("cannot open a file that has landed");
  if (auto synced = sync_file(file.get()); synced.has_error()) {
    unlinkat(folder, name.c_str(), 0);  // what is on the disk is unknown: begin again from nothing
    return synced;
  }
  return sync_name(folder, name, announced);
}

DiskResult<void> LandingFolder::sync_name(int folder, const std::string& name, const AnnouncedFile& announced) {
  // Also the names of our two folders: the process that made them may have been killed before it synced them.
  Fd above;
  for (int level = 0; level < 3; ++level) {
    const int fd = level == 0 ? folder : above.get();
    if (auto synced = sync_folder(fd); synced.has_error()) {
      // The next sync may succeed without having written this name: it has to be written again.
      (void)renameat(folder, name.c_str(), folder, temporary_name(announced).c_str());
      return synced;
    }
    if (level < 2) above = Fd(openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (level < 2 && !above) return disk_error("cannot open the folder above the landed files");
  }
  return {};
}

DiskResult<std::optional<std::string>> LandingFolder::find(const AnnouncedFile& announced) const {
  using Found = DiskResult<std::optional<std::string>>;
  const auto folder = open();
  if (folder.has_error()) return folder.error();
  for (int n = 0; n <= kMaxSameNames; ++n) {
    const auto name = nth_name(announced, n);
    struct stat there{};
    if (fstatat(folder->get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return Found(std::nullopt);
    if (!holds(folder->get(), name, announced)) continue;
    if (const auto synced = sync_found(folder->get(), name, announced); synced.has_error()) return synced.error();
    return Found(path_of(name));
  }
  return Found(std::nullopt);
}

DiskResult<Partial> LandingFolder::begin(const AnnouncedFile& announced) const {
  auto folder = open();
  if (folder.has_error()) return folder.error();
  Partial partial;
  partial.folder_ = std::move(*folder);
  partial.temporary_ = temporary_name(announced);
  const auto open_part = [&](int more) {
    return Fd(openat(partial.folder_.get(), partial.temporary_.c_str(),
                     O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | more, 0600));
  };
  partial.file_ = open_part(0);
  if (!partial.file_ || !is_ours(partial.file_.get())) {
    // No file, or one that we did not create: begin with a new one.
    if (unlinkat(partial.folder_.get(), partial.temporary_.c_str(), 0) != 0 && errno != ENOENT)
      return disk_error("cannot begin a file");
    partial.file_ = open_part(O_CREAT | O_EXCL);
    if (!partial.file_) return disk_error("cannot begin a file");
    return partial;
  }
  const bool readable = hash_rest(partial.file_.get(), partial.hash_, partial.size_);
  if (readable && partial.size_ <= announced.size) return partial;
  if (auto again = partial.restart(); again.has_error()) return again.error();
  return partial;
}

void LandingFolder::discard(const AnnouncedFile& announced) const {
  if (const auto folder = open(); folder.has_value()) unlinkat(folder->get(), temporary_name(announced).c_str(), 0);
}

DiskResult<std::optional<std::string>> LandingFolder::finish(Partial partial, const AnnouncedFile& announced) const {
  using Landed = DiskResult<std::optional<std::string>>;
  const int folder = partial.folder_.get();
  const auto digest = to_hex(partial.hash_.finish());
  if (partial.size_ != announced.size ||
      (!announced.sha256.empty() && !equal_ignoring_case(digest, announced.sha256))) {
    unlinkat(folder, partial.temporary_.c_str(), 0);
    return Landed(std::nullopt);
  }
  if (auto synced = sync_file(partial.file_.get()); synced.has_error()) {
    // After a failed sync the content on disk is unknown: begin again from nothing.
    unlinkat(folder, partial.temporary_.c_str(), 0);
    return synced.error();
  }
  for (int n = 0; n <= kMaxSameNames; ++n) {
    const auto name = nth_name(announced, n);
    const auto renamed = rename_without_replacing(folder, partial.temporary_, name);
    if (renamed.has_error()) return renamed.error();
    if (!*renamed && !holds(folder, name, announced)) continue;
    const auto synced = *renamed ? sync_name(folder, name, announced) : sync_found(folder, name, announced);
    if (synced.has_error()) return synced.error();
    if (!*renamed) unlinkat(folder, partial.temporary_.c_str(), 0);
    return Landed(path_of(name));
  }
  return DiskError{"too many other files have the name of this one", EEXIST};
}

}  // namespace restante::agent
