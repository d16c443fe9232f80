// Health: whether the database may still be trusted. An I/O error or a damaged page ends that until a restart: a sync
// that failed once must not be tried again on the same file, because the kernel may have dropped what it could not
// write. Thread-safe.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "base/error.h"

namespace restante::sqlite {

class Health {
 public:
  // The first reason stays.
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
