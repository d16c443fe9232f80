// Fault makes a system call fail with an errno while it lives: the first `skipped` calls work, the next `times` fail.
// Covers the store's own calls and, for reads, writes and syncs, SQLite's. One at a time.
#pragma once
#include <limits>

namespace restante::testing {

// Calls on directories: open_at is openat() and so on; `look` is fstatat(), `list` is readdir(); look_at_open is
// fstat().
enum class Call { write, sync, truncate, open_at, link_at, make_directory_at, look, list, read, look_at_open };

class Fault {
 public:
  static constexpr int kAlways = std::numeric_limits<int>::max();

  Fault(Call call, int error, int skipped = 0, int times = kAlways);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  // How many calls have failed.
  int hits() const;
};

}  // namespace restante::testing
