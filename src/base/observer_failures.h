// ObserverFailures: what the observers of commits threw. They run on the writer's thread after the write is durable, so
// what one throws must neither end that thread nor change the answer. guard() runs one and passes its failure to the
// reporter of this process, which the server sets while it runs; without one it is ignored. Thread-safe, never throws.
#pragma once
#include <exception>
#include <functional>
#include <utility>

#include "base/mutex.h"

namespace restante {

class ObserverFailures {
 public:
  using Report = std::function<void(const char* reason)>;

  // Replaces the reporter; an empty one ends the reports. The old one is not running any more when this returns.
  static void report_to(Report report) {
    ObserverFailures& all = instance();
    const MutexLock lock(all.mutex_);
    all.report_ = std::move(report);
  }

  template <class Observer>
  static void guard(const Observer& observer) noexcept {
    try {
      observer();
    } catch (const std::exception& e) {
      tell(e.what());
    } catch (...) {
      tell("not an exception");
    }
  }

 private:
  static ObserverFailures& instance() {
    static auto& all = *new ObserverFailures;  // never destroyed: a writer may still run when the process exits
    return all;
  }
  static void tell(const char* reason) noexcept {
    try {
      ObserverFailures& all = instance();
      const MutexLock lock(all.mutex_);
      if (all.report_) all.report_(reason);
    } catch (...) {
      // A report that cannot be made changes nothing.
    }
  }

  Mutex mutex_;
  Report report_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante
