// Log writes one JSON object per line to a file descriptor, on its own thread, so that no caller waits for a slow disk
// or pipe. Thread-safe. A full buffer or a failed write loses lines; the log counts them and later writes how many. It
// never blocks, throws or ends the process; only the destructor waits, about a second for a reader that has stopped.
// Never pass a token or content: fields are what an operator may read.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "base/clock.h"
#include "base/mutex.h"

namespace restante {

enum class LogLevel { debug, info, warn, error };

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double> value;
  LogField(std::string_view n, std::string_view v) : name(n), value(v) {}
  LogField(std::string_view n, std::int64_t v) : name(n), value(v) {}
  LogField(std::string_view n, double v) : name(n), value(v) {}
};

class Log {
 public:
  // Does not own the descriptor.
  Log(int fd, LogLevel least, const Clock& clock);
  // Writes the buffered lines, as far as the descriptor accepts them.
  ~Log();

  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
  void debug(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::debug, event, fields);
  }
  void info(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, event, fields);
  }
  void warn(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warn, event, fields);
  }
  void error(std::string_view event, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::error, event, fields);
  }
  // Waits until the lines so far are written, at most so long: for the end of a process that destroys nothing.
  void flush(std::chrono::milliseconds at_most);
  bool wants(LogLevel level) const { return level >= least_; }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void append(const std::string& line);
  void run();

  const int fd_;
  const LogLevel least_;
  const Clock& clock_;
  Mutex mutex_;
  ConditionVariable changed_;
  ConditionVariable written_;
  std::string buffer_ RESTANTE_GUARDED_BY(mutex_);
  bool writing_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> lost_{0};
  std::thread writer_;
};

}  // namespace restante
