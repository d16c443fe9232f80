// Health: whether the database may still be used. After an I/O error or a damaged page it may not, until a restart: a
// sync that failed must not be tried again on the same file, because the kernel may have dropped the pages that it
// could not write. Thread-safe. require() throws Unavailable.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "base/error.h"

namespace restante::sqlite {

class Health {
 public:
  // Keeps the first reason.
  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
    failed_ = true;
  }
  bool ok() const { return !failed_; }
  void require() const {
    if (ok()) return;
    const std::lock_guard lock(mutex_);
    throw Unavailable("the database has failed and needs a restart: " + reason_);
  }

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace restante::sqlite
