#include "store/dir/draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "store/blob_key.h"

namespace restante::dir {
namespace {

// Without a name where `temporary` is empty.
Fd open_draft(Place& place, const std::string& temporary) {
  Fd file(temporary.empty()
              ? openat(place.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
              : openat(place.fd(), temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) place.fail("begin a blob");
  return file;
}

}  // namespace

std::string_view subdirectory_of(std::string_view key) { return key.substr(30); }

std::string file_of(std::string_view key) { return fmt::format("{}/{}", subdirectory_of(key), key); }

Draft::Draft(Place& place, Drafts drafts, const Clock& clock)
    : place_(place),
      clock_(clock),
      temporary_(drafts == Drafts::named ? "tmp/" + new_blob_key(clock.now()) : ""),
      file_(std::in_place, place, open_draft(place, temporary_)) {}

Draft::~Draft() { remove_temporary(); }

void Draft::remove_temporary() {
  if (!temporary_.empty()) unlinkat(place_.fd(), temporary_.c_str(), 0);
  temporary_.clear();
}

void Draft::write(std::string_view bytes) {
  if (state_ != State::writing) throw std::logic_error("write to a blob that has ended");
  place_.require_healthy();
  state_ = State::broken;
  file_->write(bytes);
  state_ = State::writing;
}

void Draft::publish(const std::string& file) {
  const std::string by_fd = fmt::format("/proc/self/fd/{}", file_->fd());
  const int code = temporary_.empty() ? linkat(AT_FDCWD, by_fd.c_str(), place_.fd(), file.c_str(), AT_SYMLINK_FOLLOW)
                                      : linkat(place_.fd(), temporary_.c_str(), place_.fd(), file.c_str(), 0);
  if (code != 0) place_.fail("name a blob");
}

std::string Draft::finish() { return finish_as(new_blob_key(clock_.now())); }

std::string Draft::finish_as(const std::string& key) {
  if (state_ != State::writing) throw std::logic_error("finish of a blob that has ended");
  place_.require_healthy();
  state_ = State::broken;
  file_->sync();
  const std::string file = file_of(key);
  const std::string subdirectory(subdirectory_of(key));
  place_.need_subdirectory(subdirectory);
  publish(file);
  try {
    place_.sync_names(subdirectory.c_str());
  } catch (...) {
    unlinkat(place_.fd(), file.c_str(), 0);
    throw;
  }
  remove_temporary();
  file_.reset();
  state_ = State::finished;
  return key;
}

}  // namespace restante::dir
