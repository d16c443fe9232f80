// Output: writes complete lines to one descriptor, from any thread, never mixed. A reader that does not read blocks the
// writers, but not the shutdown: when stop is requested, a half-written line is given up. Thread-safe.
#pragma once
#include <atomic>
#include <string_view>

#include "agent/stop.h"
#include "base/mutex.h"

namespace restante::mcp {

class Output {
 public:
  Output(int descriptor, const agent::Stop& stop) : descriptor_(descriptor), stop_(stop) {}

  // True when the whole line, with its end, was written.
  bool write(std::string_view line);
  // The reader has closed the descriptor.
  bool closed() const { return closed_.load(); }

 private:
  bool write_piece(std::string_view& bytes) RESTANTE_REQUIRES(mutex_);

  int descriptor_;
  const agent::Stop& stop_;
  Mutex mutex_;  // one line at a time
  std::atomic<bool> closed_{false};
};

}  // namespace restante::mcp
