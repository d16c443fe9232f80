// Fault: a system call fails with an errno while this lives, the first `spared` calls apart. Covers the store's own
// calls and SQLite's. One at a time.
#pragma once
#include <limits>

namespace restante::testing {

enum class Call { write, sync };

class Fault {
 public:
  Fault(Call call, int error, int spared = 0);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  // How many calls have failed.
  int hits() const;
};

}  // namespace restante::testing
