// Health: whether the database may still be used. After an I/O error or a damaged page it may not, until a restart: a
// sync that failed must not be tried again on the same file, because the kernel may have dropped the pages that it
// could not write. A sync of the log that found no room is not recorded here: what it could not write is written again.
// Thread-safe. require() throws Unavailable.
#pragma once
#include <atomic>
#include <string>

#include "base/error.h"
#include "base/mutex.h"

namespace restante::sqlite {

class Health {
 public:
  // Keeps the first reason.
  void fail(const std::string& reason) {
    const MutexLock lock(mutex_);
    if (reason_.empty()) reason_ = reason;
    failed_ = true;
  }
  bool ok() const { return !failed_; }
  void require() const {
    if (ok()) return;
    const MutexLock lock(mutex_);
    throw Unavailable("the database has failed and needs a restart: " + reason_);
  }

 private:
  std::atomic<bool> failed_{false};
  mutable Mutex mutex_;
  std::string reason_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::sqlite
