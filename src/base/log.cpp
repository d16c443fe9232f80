#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <new>
#include <utility>

#include "base/json_writer.h"
#include "base/names.h"

namespace restante {
namespace {

// A burst of some ten thousand lines; beyond it the disk or the reader of the pipe is the problem, not the buffer.
constexpr std::size_t kBufferBytes = 4 << 20;
constexpr auto kGather = std::chrono::milliseconds(2);

constexpr Names<LogLevel, LogLevel::error> kLevels{"debug", "info", "warn", "error"};

// How long a pipe or terminal that accepts nothing counts as merely slow, once the process ends.
constexpr int kSlowReaderMs = 1000;

// Returns the part that was not written. Waits for a pipe or terminal that is full, until the process ends; gives up on
// every other failure.
std::string_view write_all(int fd, std::string_view text, const std::atomic<bool>& stopping) {
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    const int count = ::poll(&ready, 1, kSlowReaderMs);
    if (count <= 0 && fd >= 0) {
      if (count == 0 && stopping) break;
      continue;
    }
    // A pipe that has any room has room for this much: even a blocking one does not block us.
    const ssize_t n = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (n < 0 && errno != EAGAIN && errno != EINTR) break;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return text;
}

// The kernel sends both signals to the writing thread, and they would end the process: one for a pipe without a reader,
// the other beyond a file's size limit.
void block_signals_of_writing() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::string lost_note(Time now, std::uint64_t count) {
  return json_object([&](JsonWriter& note) {
           note.member("ts", now);
           note.member("level", kLevels.of(LogLevel::warn));
           note.member("event", "log_lines_lost");
           note.member("count", static_cast<std::int64_t>(count));
         }) +
         "\n";
}

}  // namespace

Log::Log(int fd, LogLevel least, const Clock& clock)
    : fd_(fd), least_(least), clock_(clock), writer_([this] { run(); }) {}

Log::~Log() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void Log::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!wants(level)) return;
  try {
    append(json_object([&](JsonWriter& out) {
      out.member("ts", clock_.now());
      out.member("level", kLevels.of(level));
      out.member("event", event);
      for (const LogField& field : fields) {
        std::visit([&](auto value) { out.member(field.name, value); }, field.value);
      }
    }));
  } catch (const std::bad_alloc&) {
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Log::append(const std::string& line) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    if (buffer_.size() + line.size() > kBufferBytes) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    first = buffer_.empty();
    buffer_.reserve(buffer_.size() + line.size() + 1);  // the whole line or nothing of it
    buffer_ += line;
    buffer_ += '\n';
  }
  if (first) changed_.notify_one();
}

void Log::flush(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  MutexLock lock(mutex_);
  while ((writing_ || !buffer_.empty()) && std::chrono::steady_clock::now() < until) written_.wait_until(lock, until);
}

void Log::run() {
  block_signals_of_writing();
  std::uint64_t reported = 0;
  bool torn = false;
  // Writes how many lines were lost. After half a line the next one needs a line end first.
  const auto put = [&](std::string_view text) {
    if (torn) torn = !write_all(fd_, "\n", stopping_).empty();
    const std::string_view rest = torn ? text : write_all(fd_, text, stopping_);
    if (rest.size() < text.size()) torn = rest.data()[-1] != '\n';
    return static_cast<std::uint64_t>(std::count(rest.begin(), rest.end(), '\n'));
  };
  const auto put_note = [&](std::uint64_t count) {
    try {
      return put(lost_note(clock_.now(), count)) == 0;
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && buffer_.empty()) changed_.wait(lock);
    if (buffer_.empty()) return;
    // The first of many lines waits a moment for the others: a wake-up for each line costs more than its write.
    const auto gathered = std::chrono::steady_clock::now() + kGather;
    while (!stopping_ && changed_.wait_until(lock, gathered) == std::cv_status::no_timeout) continue;
    const std::string batch = std::exchange(buffer_, {});
    writing_ = true;
    lock.unlock();
    const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    if (lost > reported && put_note(lost - reported)) reported = lost;
    const std::uint64_t missed = put(batch);
    lost_.fetch_add(missed, std::memory_order_relaxed);
    lock.lock();
    writing_ = false;
    written_.notify_all();
    // A descriptor that accepted nothing of this batch would delay the end once more for the next batch.
    if (missed > 0 && stopping_) return;
  }
}

}  // namespace restante
