#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/json_writer.h"

namespace restante {
namespace {

// A burst of some ten thousand lines; beyond it the disk or the reader of the pipe is the problem, not the buffer.
constexpr std::size_t kBufferBytes = 4 << 20;

constexpr std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

// True when all of it was taken. A non-blocking terminal or pipe is waited for; every other failure gives up.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
    } else if (n < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

Log::Log(int fd, LogLevel least, const Clock& clock)
    : fd_(fd), least_(least), clock_(clock), writer_([this] { run(); }) {}

Log::~Log() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void Log::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!wants(level)) return;
  JsonWriter line;
  line.begin_object();
  line.member("ts", format_time(clock_.now()));
  line.member("level", name_of(level));
  line.member("event", event);
  for (const LogField& field : fields) {
    line.key(field.name);
    if (const auto* text = std::get_if<std::string_view>(&field.value)) line.string(*text);
    if (const auto* whole = std::get_if<std::int64_t>(&field.value)) line.integer(*whole);
    if (const auto* real = std::get_if<double>(&field.value)) line.real(*real);
  }
  line.end_object();
  {
    const std::lock_guard lock(mutex_);
    if (buffer_.size() + line.text().size() > kBufferBytes) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    buffer_ += line.text();
    buffer_ += '\n';
    ++buffered_lines_;
  }
  changed_.notify_one();
}

void Log::run() {
  std::uint64_t told = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !buffer_.empty(); });
    if (buffer_.empty()) return;
    std::string batch = std::exchange(buffer_, {});
    const std::uint64_t lines = std::exchange(buffered_lines_, 0);
    const bool stopping = stopping_;
    lock.unlock();
    const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    if (lost > told) {
      JsonWriter note;
      note.begin_object();
      note.member("ts", format_time(clock_.now()));
      note.member("level", "warn");
      note.member("event", "log_lines_lost");
      note.member("count", static_cast<std::int64_t>(lost - told));
      note.end_object();
      batch.insert(0, note.take() + "\n");
      told = lost;
    }
    if (!write_all(fd_, batch)) lost_.fetch_add(lines, std::memory_order_relaxed);
    lock.lock();
    if (stopping && buffer_.empty()) return;
  }
}

}  // namespace restante
