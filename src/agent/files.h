// File functions of the agent that survive a kill and a power cut. POSIX only; a better call of Linux is used where
// there is one. Failures are values, not exceptions: a full or broken disk is expected on other people's machines.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/system/result.hpp>

#include "base/fd.h"

namespace restante::agent {

// A failed disk operation: a sentence for a person, and errno.
struct DiskError {
  DiskError() = default;
  DiskError(std::string s, int e) : sentence(std::move(s)), error(e) {}

  std::string sentence;
  int error = 0;
};

template <class T>
using DiskResult = boost::system::result<T, DiskError>;

[[noreturn]] void throw_exception_from_error(const DiskError& error, const boost::source_location&);

// "<what>: <the system's reason>", from errno.
DiskError disk_error(std::string_view what);

// Opens the folder `name` in `parent`, created 0700 when missing, and then durable. A symbolic link in its place is
// refused.
DiskResult<Fd> open_folder(int parent, const std::string& name);
// Opens a folder by its path, created with its parents when missing, and then durable. Links on the way are allowed:
// they are the owner's choice.
DiskResult<Fd> open_root(const std::string& path);

DiskResult<void> write_all(int fd, std::string_view bytes);
// Writes through the device's cache where the system supports that.
DiskResult<void> sync_file(int fd);
// Makes the names in the folder durable. Where the file system has no such call (some network file systems), there is
// nothing to do, and it is not an error.
DiskResult<void> sync_folder(int fd);

// Gives `from` the name `to` in the same folder. False when something has that name already; it is not changed.
DiskResult<bool> rename_without_replacing(int folder, const std::string& from, const std::string& to);

// Replaces the file atomically: after a crash there is the new file or the old one; 0600. The new one is durable,
// unless there is an error.
DiskResult<void> replace_file(int folder, const std::string& name, std::string_view contents);
// No value when there is no such file. An error when it is a link, no regular file, or larger than `max`.
DiskResult<std::optional<std::string>> read_file(int folder, const std::string& name, std::size_t max);

}  // namespace restante::agent
