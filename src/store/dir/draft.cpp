#include "store/dir/draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "base/text.h"
#include "base/uuid.h"

namespace restante::dir {
namespace {

// Reserving space keeps a big file in one piece; below this size it only costs a call.
constexpr std::int64_t kReserveFrom = 1 << 20;
constexpr std::int64_t kReserveStep = 4 << 20;
// Writing back early, while more is coming in, leaves the final sync little to do.
constexpr std::int64_t kFlushStep = 4 << 20;

Time wall_clock() { return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()); }

std::string new_key() { return Uuid::make(wall_clock()).hex(); }

}  // namespace

bool is_key(std::string_view text) {
  return text.size() == 32 && std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string_view subdirectory_of(std::string_view key) { return key.substr(30); }

std::string file_of(std::string_view key) { return fmt::format("{}/{}", subdirectory_of(key), key); }

Time time_of(std::string_view key) {
  std::int64_t millis = 0;
  for (const char c : key.substr(0, 12)) millis = millis * 16 + hex_digit(c);
  return Time(std::chrono::milliseconds(millis));
}

Draft::Draft(Place& place, Drafts drafts) : place_(place) {
  if (drafts == Drafts::unnamed_if_possible) {
    file_ = Fd(openat(place_.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  } else {
    temporary_ = "tmp/" + new_key();
    file_ = Fd(openat(place_.fd(), temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!file_) place_.fail("begin a blob");
}

Draft::~Draft() { remove_temporary(); }

void Draft::remove_temporary() {
  if (!temporary_.empty()) unlinkat(place_.fd(), temporary_.c_str(), 0);
  temporary_.clear();
}

void Draft::reserve(std::int64_t end) {
  if (end <= kReserveFrom || end <= reserved_) return;
  // Only a hint: if there is no room for it, or no such call, the write itself will tell.
  const std::int64_t from = std::max(reserved_, size_);
  reserved_ = end + kReserveStep;
  fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, from, reserved_ - from);
}

void Draft::write(std::string_view bytes) {
  if (state_ != State::writing) throw std::logic_error("write to a blob that has ended");
  place_.require_healthy();
  state_ = State::broken;
  reserve(size_ + static_cast<std::int64_t>(bytes.size()));
  place_.write_all(file_.get(), bytes, size_);
  size_ += static_cast<std::int64_t>(bytes.size());
  if (size_ - flushed_ >= kFlushStep) {
    sync_file_range(file_.get(), flushed_, size_ - flushed_, SYNC_FILE_RANGE_WRITE);
    flushed_ = size_;
  }
  state_ = State::writing;
}

void Draft::publish(const std::string& file) {
  const std::string by_fd = fmt::format("/proc/self/fd/{}", file_.get());
  const int code = temporary_.empty() ? linkat(AT_FDCWD, by_fd.c_str(), place_.fd(), file.c_str(), AT_SYMLINK_FOLLOW)
                                      : linkat(place_.fd(), temporary_.c_str(), place_.fd(), file.c_str(), 0);
  if (code != 0) place_.fail("name a blob");
}

std::string Draft::finish() {
  if (state_ != State::writing) throw std::logic_error("finish of a blob that has ended");
  place_.require_healthy();
  state_ = State::broken;
  if (reserved_ > size_ && ftruncate(file_.get(), size_) != 0) place_.fail("trim a blob");
  place_.sync_data(file_.get());
  const std::string key = new_key();
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
  file_ = Fd();
  state_ = State::finished;
  return key;
}

}  // namespace restante::dir
