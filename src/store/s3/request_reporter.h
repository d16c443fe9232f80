// RequestReporter: counts and logs the results of requests to S3. It counts every attempt. It logs failures, but the
// same reason only every few seconds, and logs when S3 answers again. Never a key or a signature: sentences are those
// of explain.h. Thread-safe; never blocks for long.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "store/s3/service.h"

namespace restante::s3 {

class RequestReporter {
 public:
  RequestReporter(const Clock& clock, Log& log, Metrics& metrics);

  void attempted(const Attempt& attempt);
  void repeated() { metrics_.s3_retries.Increment(); }

  // The reason of the latest failure; empty when it is old, or when all failed operations have succeeded since.
  std::string trouble() const;

 private:
  struct Failed {
    std::string_view operation;
    std::string sentence;
    SteadyTime at;
  };

  void failed(const Attempt& attempt);
  void succeeded(std::string_view operation);

  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  mutable Mutex mutex_;                                     // held for microseconds
  std::vector<Failed> failed_ RESTANTE_GUARDED_BY(mutex_);  // at most one for each operation, the latest at the end
  std::string logged_ RESTANTE_GUARDED_BY(mutex_);
  SteadyTime logged_at_ RESTANTE_GUARDED_BY(mutex_){};
  std::int64_t suppressed_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

}  // namespace restante::s3
