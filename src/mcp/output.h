// Output: whole lines to one descriptor, from any thread, never mixed. A reader that does not read holds up the
// writers, but never the end: when the stop is requested a half-written line is given up. Thread-safe.
#pragma once
#include <atomic>
#include <mutex>
#include <string_view>

#include "agent/stop.h"

namespace restante::mcp {

class Output {
 public:
  Output(int descriptor, const agent::Stop& stop) : descriptor_(descriptor), stop_(stop) {}

  // True when all of it, and the end of the line, is out.
  bool write(std::string_view line);
  // Nobody reads any more.
  bool closed() const { return closed_.load(); }

 private:
  bool write_piece(std::string_view& bytes);

  int descriptor_;
  const agent::Stop& stop_;
  std::mutex mutex_;
  std::atomic<bool> closed_{false};
};

}  // namespace restante::mcp
