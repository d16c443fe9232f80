#include "agent/landing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "model/upload_names.h"

namespace restante::agent {
namespace {

constexpr int kMaxNamesakes = 9;

std::string nth_name(const Parcel& parcel, int n) {
  const auto safe = sanitise_filename(parcel.name);
  return n == 0 ? parcel.landed_name() : parcel.id.uuid().hex() + "-" + std::to_string(n) + "-" + safe;
}

std::string temporary_name(const Parcel& parcel) { return ".part-" + parcel.id.uuid().hex(); }

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

std::string Parcel::landed_name() const { return id.uuid().hex() + "-" + sanitise_filename(name); }

Tried<void> Partial::append(std::string_view bytes) {
  if (auto written = write_all(file_.get(), bytes); written.has_error()) return written;
  hash_.update(bytes);
  size_ += bytes.size();
  return {};
}

Tried<void> Partial::restart() {
  if (ftruncate(file_.get(), 0) != 0 || lseek(file_.get(), 0, SEEK_SET) != 0)
    return system_fault("cannot start a file again");
  hash_ = Sha256();
  size_ = 0;
  return {};
}

Tried<Descriptor> Landing::open() const {
  // Opened anew each time: somebody may have moved or removed a folder since the last file.
  auto root = open_root(dir_);
  if (root.has_error()) return root.error();
  auto molecule = open_folder(root->get(), ".molecule");
  if (molecule.has_error()) return molecule.error();
  return open_folder(molecule->get(), "chat-uploads");
}

std::string Landing::path_of(const std::string& name) const {
  std::error_code error;
  auto root = std::filesystem::canonical(dir_, error);
  if (error) root = std::filesystem::absolute(dir_, error);
  return (root / ".molecule" / "chat-uploads" / name).string();
}

bool Landing::holds(int folder, const std::string& name, const Parcel& parcel) {
  const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat there{};
  if (!file || fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode)) return false;
  if (static_cast<std::uint64_t>(there.st_size) != parcel.size) return false;
  if (parcel.sha256.empty()) return true;
  Sha256 hash;
  std::uint64_t bytes = 0;
  return hash_rest(file.get(), hash, bytes) && equal_ignoring_case(to_hex(hash.finish()), parcel.sha256);
}

Tried<std::optional<std::string>> Landing::find(const Parcel& parcel) const {
  using Found = Tried<std::optional<std::string>>;
  const auto folder = open();
  if (folder.has_error()) return folder.error();
  for (int n = 0; n <= kMaxNamesakes; ++n) {
    const auto name = nth_name(parcel, n);
    struct stat there{};
    if (fstatat(folder->get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return Found(std::nullopt);
    if (holds(folder->get(), name, parcel)) return Found(path_of(name));
  }
  return Found(std::nullopt);
}

Tried<Partial> Landing::begin(const Parcel& parcel) const {
  auto folder = open();
  if (folder.has_error()) return folder.error();
  Partial partial;
  partial.folder_ = std::move(*folder);
  partial.temporary_ = temporary_name(parcel);
  const auto open_part = [&](int more) {
    return Descriptor(openat(partial.folder_.get(), partial.temporary_.c_str(),
                             O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | more, 0600));
  };
  partial.file_ = open_part(0);
  if (!partial.file_ || !is_ours(partial.file_.get())) {
    // Nothing there, or something that we did not put there: start with a file that is certainly new.
    if (unlinkat(partial.folder_.get(), partial.temporary_.c_str(), 0) != 0 && errno != ENOENT)
      return system_fault("cannot begin a file");
    partial.file_ = open_part(O_CREAT | O_EXCL);
    if (!partial.file_) return system_fault("cannot begin a file");
    return partial;
  }
  const bool readable = hash_rest(partial.file_.get(), partial.hash_, partial.size_);
  if (readable && partial.size_ <= parcel.size) return partial;
  if (auto again = partial.restart(); again.has_error()) return again.error();
  return partial;
}

void Landing::discard(const Parcel& parcel) const {
  if (const auto folder = open(); folder.has_value()) unlinkat(folder->get(), temporary_name(parcel).c_str(), 0);
}

Tried<std::optional<std::string>> Landing::finish(Partial partial, const Parcel& parcel) const {
  using Landed = Tried<std::optional<std::string>>;
  const int folder = partial.folder_.get();
  const auto digest = to_hex(partial.hash_.finish());
  if (partial.size_ != parcel.size || (!parcel.sha256.empty() && !equal_ignoring_case(digest, parcel.sha256))) {
    unlinkat(folder, partial.temporary_.c_str(), 0);
    return Landed(std::nullopt);
  }
  if (auto synced = sync_file(partial.file_.get()); synced.has_error()) {
    // What a failed sync has left of the file is unknown: begin again from nothing.
    unlinkat(folder, partial.temporary_.c_str(), 0);
    return synced.error();
  }
  for (int n = 0; n <= kMaxNamesakes; ++n) {
    const auto name = nth_name(parcel, n);
    const auto renamed = rename_without_replacing(folder, partial.temporary_, name);
    if (renamed.has_error()) return renamed.error();
    if (!*renamed && !holds(folder, name, parcel)) continue;
    if (!*renamed) unlinkat(folder, partial.temporary_.c_str(), 0);
    sync_folder(folder);
    return Landed(path_of(name));
  }
  return Fault{"too many other files have the name of this one", EEXIST};
}

}  // namespace restante::agent
