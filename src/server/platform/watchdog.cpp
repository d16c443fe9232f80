#include "server/platform/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace restante {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

Watchdog::Watchdog(Writers writers, Log& log, Metrics& metrics, WatchdogRules rules, std::function<void()> end)
    : writers_(std::move(writers)), log_(log), metrics_(metrics), rules_(rules), end_(std::move(end)) {}

Watchdog::~Watchdog() { stop(); }

void Watchdog::start() {
  thread_ = std::thread([this] { run(); });
}

void Watchdog::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::require_moving() const {
  const MutexLock lock(mutex_);
  if (stalled_for_.count() == 0) return;
  throw Unavailable(fmt::format("a writer has not moved for {} s", duration_cast<seconds>(stalled_for_).count()));
}

void Watchdog::look(milliseconds since) {
  const std::vector<WriterProgress> writers = writers_();
  watched_.resize(writers.size());
  milliseconds longest{0};
  for (std::size_t i = 0; i < writers.size(); ++i) {
    Watched& one = watched_[i];
    const bool stands = writers[i].busy && writers[i] == one.last;
    one.stands_for = stands ? one.stands_for + since : milliseconds(0);
    one.last = writers[i];
    longest = std::max(longest, one.stands_for);
  }
  const milliseconds stalled = longest >= rules_.stalled_after ? longest : milliseconds(0);
  const milliseconds before = [&] {
    const MutexLock lock(mutex_);
    return std::exchange(stalled_for_, stalled);
  }();
  metrics_.writer_stalled.Set(std::chrono::duration<double>(stalled).count());
  const std::int64_t count = duration_cast<seconds>(longest).count();
  if (stalled.count() > 0 && before.count() == 0) log_.error("writer_stalled", {{"seconds", count}});
  if (stalled.count() == 0 && before.count() > 0) log_.info("writer_moves_again");
  if (rules_.end_after.count() == 0 || longest < rules_.end_after) return;
  log_.error("writer_stalled_end", {{"seconds", count}});
  end_();
}

milliseconds Watchdog::period() const {
  return std::clamp(rules_.stalled_after / 4, milliseconds(1), milliseconds(1'000));
}

void Watchdog::run() {
  using Steady = std::chrono::steady_clock;
  const milliseconds every = period();
  Steady::time_point last = Steady::now();
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto due = Steady::now() + every;
    while (!stopping_ && changed_.wait_until(lock, due) == std::cv_status::no_timeout) continue;
    if (stopping_) return;
    lock.unlock();
    const auto now = Steady::now();
    // More than twice the period means that this process did not run, and the writer did not either.
    look(std::min(duration_cast<milliseconds>(now - last), 2 * every));
    last = now;
    lock.lock();
  }
}

}  // namespace restante
