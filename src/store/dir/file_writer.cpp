#include "store/dir/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "store/blob_key.h"

namespace restante::dir {
namespace {

// Opens a file without a name when `temporary` is empty.
Fd open_temporary(BlobDirectory& directory, const std::string& temporary) {
  Fd file(temporary.empty()
              ? openat(directory.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
              : openat(directory.fd(), temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) directory.fail("begin a blob");
  return file;
}

}  // namespace

std::string_view subdirectory_of(std::string_view key) { return key.substr(30); }

std::string file_of(std::string_view key) { return fmt::format("{}/{}", subdirectory_of(key), key); }

FileWriter::FileWriter(BlobDirectory& directory, TemporaryNames temporary_names, const Clock& clock)
    : directory_(directory),
      clock_(clock),
      temporary_(temporary_names == TemporaryNames::named ? "tmp/" + new_blob_key(clock.now()) : ""),
      file_(std::in_place, directory, open_temporary(directory, temporary_)) {}

FileWriter::~FileWriter() { remove_temporary(); }

void FileWriter::remove_temporary() {
  if (!temporary_.empty()) unlinkat(directory_.fd(), temporary_.c_str(), 0);
  temporary_.clear();
}

void FileWriter::write(std::string_view bytes) {
  if (state_ != State::writing) throw std::logic_error("write to a blob that has ended");
  directory_.require_healthy();
  state_ = State::broken;
  file_->write(bytes);
  state_ = State::writing;
}

void FileWriter::publish(const std::string& file) {
  const std::string by_fd = fmt::format("/proc/self/fd/{}", file_->fd());
  const int code = temporary_.empty()
                       ? linkat(AT_FDCWD, by_fd.c_str(), directory_.fd(), file.c_str(), AT_SYMLINK_FOLLOW)
                       : linkat(directory_.fd(), temporary_.c_str(), directory_.fd(), file.c_str(), 0);
  if (code != 0) directory_.fail("name a blob");
}

std::string FileWriter::finish() { return finish_as(new_blob_key(clock_.now())); }

std::string FileWriter::finish_as(const std::string& key) {
  if (state_ != State::writing) throw std::logic_error("finish of a blob that has ended");
  directory_.require_healthy();
  state_ = State::broken;
  file_->sync();
  const std::string file = file_of(key);
  const std::string subdirectory(subdirectory_of(key));
  directory_.need_subdirectory(subdirectory);
  publish(file);
  try {
    directory_.sync_names(subdirectory.c_str());
  } catch (...) {
    unlinkat(directory_.fd(), file.c_str(), 0);
    throw;
  }
  remove_temporary();
  file_.reset();
  state_ = State::finished;
  return key;
}

}  // namespace restante::dir
