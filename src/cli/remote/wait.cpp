#include "cli/remote/wait.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

// Pauses between two requests: a quick change is seen quickly, and a long wait costs one request in two seconds.
constexpr std::chrono::milliseconds kShortestPause(200);
constexpr std::chrono::milliseconds kLongestPause(2'000);
// Pauses between two attempts without an answer: a server that is back is asked soon.
constexpr std::chrono::milliseconds kFirstRetryPause(250);
constexpr std::chrono::milliseconds kLongestRetryPause(8'000);

bool may_pass(const CommandFailed& failed) {
  return failed.exit_code() == kExitUnavailable || failed.exit_code() == kExitTryAgain;
}

std::chrono::steady_clock::time_point end_of(std::int64_t timeout) {
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(Clock::time_point::max() - now);
  if (timeout <= 0 || timeout >= most.count()) return Clock::time_point::max();
  return now + std::chrono::seconds(timeout);
}

}  // namespace

RemoteWait::RemoteWait(Remote& remote, std::int64_t timeout, std::string when_over)
    : remote_(remote), end_(end_of(timeout)), when_over_(std::move(when_over)) {}

std::string RemoteWait::get(const std::string& target) {
  for (auto pause = kFirstRetryPause;; pause = std::min(pause * 2, kLongestRetryPause)) {
    try {
      std::string answer = remote_.get(target);
      printed_ = false;
      return answer;
    } catch (const CommandFailed& failed) {
      if (!may_pass(failed)) throw;
      print_once(failed);
    }
    std::this_thread::sleep_for(std::min(pause, left()));
    check();
  }
}

void RemoteWait::pause(Observed seen) {
  pause_ = seen == Observed::change ? kShortestPause : std::clamp(pause_ * 2, kShortestPause, kLongestPause);
  check();
  std::this_thread::sleep_for(std::min(pause_, left()));
}

std::int64_t RemoteWait::hold_seconds(std::int64_t most) const {
  check();
  if (end_ == Clock::time_point::max()) return most;
  return std::min<std::int64_t>(most, std::chrono::ceil<std::chrono::seconds>(left()).count());
}

void RemoteWait::check() const {
  if (Clock::now() >= end_) throw CommandFailed(kExitTryAgain, when_over_);
}

void RemoteWait::print_once(const CommandFailed& failed) {
  if (!printed_)
    warn(fmt::format("{} (waiting goes on, and the server is asked again until it answers)", failed.what()));
  printed_ = true;
}

std::chrono::milliseconds RemoteWait::left() const {
  return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()));
}

}  // namespace restante::cli
