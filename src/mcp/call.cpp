#include "mcp/call.h"

#include <algorithm>
#include <utility>

namespace restante::mcp {
namespace {

constexpr std::chrono::milliseconds kReportInterval{100};

}  // namespace

void Call::cancel() {
  const MutexLock lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  if (end_) end_();
}

bool Call::cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

void Call::when_cancelled(std::function<void()> end) {
  const MutexLock lock(mutex_);
  end_ = std::move(end);
  if (cancelled_ && end_) end_();
}

void Call::next_stage() {
  const MutexLock lock(mutex_);
  base_ = std::max(reported_, 0.0);
}

void Call::progress(double done, double total, std::string_view message) {
  if (!progress_) return;
  {
    const MutexLock lock(mutex_);
    done += base_;
    total += base_;
    const auto now = std::chrono::steady_clock::now();
    if (cancelled_ || done <= reported_ || (done < total && now - reported_at_ < kReportInterval)) return;
    reported_ = done;
    reported_at_ = now;
  }
  progress_(done, total, message);
}

}  // namespace restante::mcp
