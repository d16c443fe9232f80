#include "store/dir/blobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "store/blob_key.h"
#include "store/dir/blob_directory.h"
#include "store/dir/file_writer.h"

namespace restante::dir {
namespace {

constexpr int kSubdirectories = 256;

// Throws Unavailable.
class OpenFile final : public OpenBlob {
 public:
  explicit OpenFile(Fd file) : file_(std::move(file)) {}

  std::uint64_t size() override {
    struct stat info{};
    if (::fstat(fd(), &info) != 0) throw Unavailable(std::strerror(errno));
    return static_cast<std::uint64_t>(info.st_size);
  }

  std::size_t read(std::uint64_t at, std::span<char> into) override {
    for (;;) {
      const ssize_t got = ::pread(fd(), into.data(), into.size(), static_cast<off_t>(at));
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw Unavailable(std::strerror(errno));
    }
  }

  void forget() override { ::posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED); }
  int fd() const override { return file_.get(); }

 private:
  const Fd file_;
};

class DirBlobs final : public Blobs {
 public:
  DirBlobs(const std::filesystem::path& directory, TemporaryNames temporary_names, const Clock& clock)
      : directory_(directory), temporary_names_(temporary_names), clock_(clock) {
    if (temporary_names_ == TemporaryNames::unnamed_if_possible && !can_be_unnamed())
      temporary_names_ = TemporaryNames::named;
  }

  void check() override {
    directory_.require_healthy();
    directory_.require_same_directory();
    try_out(temporary_names_);
  }

  std::unique_ptr<BlobWriter> put() override {
    directory_.require_healthy();
    return std::make_unique<FileWriter>(directory_, temporary_names_, clock_);
  }

  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    if (!is_blob_key(key)) return nullptr;
    Fd file(openat(directory_.fd(), file_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    // A symbolic link and a socket cannot be opened; what else is no regular file was not written here either.
    const bool none = file ? !is_regular_file(file.get()) : errno == ENOENT || errno == ELOOP || errno == ENXIO;
    if (none) {
      directory_.require_same_directory();
      return nullptr;
    }
    if (!file) directory_.fail("open a blob");
    return std::make_shared<OpenFile>(std::move(file));
  }

  // Not synced: after a power cut the file may exist again, as an orphan that the sweep deletes.
  void drop(std::string_view key) override {
    if (!is_blob_key(key)) return;
    // A directory in place of a blob is left alone: what is in it is not ours.
    if (unlinkat(directory_.fd(), file_of(key).c_str(), 0) != 0 && errno != ENOENT && errno != EISDIR)
      directory_.fail("drop a blob");
  }

  // One step is one subdirectory, 1/256 of all files.
  BlobPage list(std::string_view from, Time before) override {
    directory_.require_same_directory();
    const int at = from.size() == 2 ? hex_digit(from[0]) * 16 + hex_digit(from[1]) : 0;
    BlobPage page;
    for (auto& name : directory_.names_in(fmt::format("{:02x}", at))) {
      if (is_blob_key(name) && time_of_blob_key(name) < before) page.keys.push_back(std::move(name));
    }
    if (at + 1 < kSubdirectories) page.next = fmt::format("{:02x}", at + 1);
    return page;
  }

  std::size_t drop_unfinished(Time before) override {
    return static_cast<std::size_t>(std::ranges::count_if(unfinished(before), [this](const std::string& file) {
      return unlinkat(directory_.fd(), file.c_str(), 0) == 0;
    }));
  }

  std::size_t count_unfinished(Time before) override { return unfinished(before).size(); }

  std::optional<std::string> mark() override { return read_mark(directory_); }
  void put_mark(const std::string& text, MarkMode how) override { write_mark(directory_, text, how, clock_); }

 private:
  // File times come from the system clock, which may differ from clock_.
  std::vector<std::string> unfinished(Time before) {
    const auto behind = clock_.now() - SystemClock().now();
    std::vector<std::string> files;
    for (const auto& name : directory_.names_in("tmp")) {
      std::string file = "tmp/" + name;
      struct stat info{};
      if (fstatat(directory_.fd(), file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const Time written(std::chrono::seconds(info.st_mtim.tv_sec));
      if (written + behind < before) files.push_back(std::move(file));
    }
    return files;
  }

  // Writes and deletes a trial blob. Some file systems have no files without a name, and some containers have no /proc,
  // which is needed to name them.
  void try_out(TemporaryNames temporary_names) {
    FileWriter temporary(directory_, temporary_names, clock_);
    temporary.write("check");
    drop(temporary.finish_as(trial_blob_key(clock_.now())));
  }

  bool can_be_unnamed() {
    try {
      try_out(TemporaryNames::unnamed_if_possible);
      return true;
    } catch (const StorageFull&) {
      return true;
    } catch (const Unavailable&) {
      directory_.require_healthy();
      return false;
    }
  }

  BlobDirectory directory_;
  TemporaryNames temporary_names_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<Blobs> open(const std::filesystem::path& directory, TemporaryNames temporary_names,
                            const Clock& clock) {
  return std::make_unique<DirBlobs>(directory, temporary_names, clock);
}

std::unique_ptr<Blobs> open(const std::filesystem::path& directory, TemporaryNames temporary_names) {
  static const SystemClock clock;
  return open(directory, temporary_names, clock);
}

}  // namespace restante::dir
