// Files on the laptop's disk, with the care that survives a kill and a power cut. POSIX only; where Linux has a better
// call it is used and its absence is not an error. Failures are values: the disk of somebody else's laptop is no
// surprise.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/system/result.hpp>

namespace restante::agent {

// What the disk would not do: a sentence for a person, and errno.
struct DiskError {
  DiskError() = default;
  DiskError(std::string s, int e) : sentence(std::move(s)), error(e) {}

  std::string sentence;
  int error = 0;
};

template <class T>
using DiskResult = boost::system::result<T, DiskError>;

[[noreturn]] void throw_exception_from_error(const DiskError& fault, const boost::source_location&);

// "<what>: <the system's reason>", from errno.
DiskError disk_error(std::string_view what);

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens the folder `name` in `parent`, made 0700 when missing. A symbolic link in its place is refused.
DiskResult<Descriptor> open_folder(int parent, const std::string& name);
// Opens a folder by its path, made with its parents when missing; links on the way are the owner's choice.
DiskResult<Descriptor> open_root(const std::string& path);

DiskResult<void> write_all(int fd, std::string_view bytes);
// Through the device where the system can say so.
DiskResult<void> sync_file(int fd);
// A folder that cannot be synced (some network file systems) is no fault.
void sync_folder(int fd);

// Gives `from` the name `to` in the same folder. False when something has that name already; it is left alone.
DiskResult<bool> rename_without_replacing(int folder, const std::string& from, const std::string& to);

// The whole file or the old one, whatever happens; 0600.
DiskResult<void> replace_file(int folder, const std::string& name, std::string_view contents);
// No value when there is no such file. A fault when it is a link, no regular file, or larger than `max`.
DiskResult<std::optional<std::string>> read_file(int folder, const std::string& name, std::size_t max);

}  // namespace restante::agent
