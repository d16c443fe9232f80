// RemoteWait: for commands that wait until something has happened on the server. A restart, a broken network or a
// database that is unavailable only make the wait longer: the request is repeated with growing pauses, and one line on
// stderr reports it. Create it only after the server has answered once: a problem that exists from the start should be
// an error at once. One thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"

namespace restante::cli {

class RemoteWait {
 public:
  // Waits at most `timeout` seconds from now on; 0: no limit. `when_over` is the error sentence when the time is up.
  RemoteWait(Remote& remote, std::int64_t timeout, std::string when_over);

  // Like Remote::get, repeated until there is an answer. Throws CommandFailed with exit code 75 and `when_over` when
  // the time is up first, and every error that repeating cannot fix.
  std::string get(const std::string& target);
  // Sleeps until the next request makes sense: a short time after a change, then longer and longer. Throws the same
  // when the time is up.
  enum class Observed { change, no_change };
  void pause(Observed seen);
  // For how many whole seconds a server may hold a request, at most `most`. Throws the same when the time is up.
  std::int64_t hold_seconds(std::int64_t most) const;

 private:
  void print_once(const CommandFailed& failed);
  void check() const;
  std::chrono::milliseconds left() const;

  using Clock = std::chrono::steady_clock;
  Remote& remote_;
  const Clock::time_point end_;
  const std::string when_over_;
  bool printed_ = false;  // the present lack of an answer was reported
  std::chrono::milliseconds pause_{0};
};

}  // namespace restante::cli
