// Waiting: for commands that wait until something has happened on the server, whatever becomes of the server meanwhile.
// A restart, a network that is away or a database that is not there only make it longer: the same is asked again with
// growing pauses, and stderr says once that it is so. Begin only after the server has answered something: what is wrong
// from the start is better told at once. Belongs to one thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "cli/failed.h"
#include "cli/remote.h"

namespace restante::cli {

class RemoteWait {
 public:
  // For so many seconds from now on, 0: as long as it takes. `when_over` is what is said when the time is up.
  RemoteWait(Remote& remote, std::int64_t timeout, std::string when_over);

  // As Remote::get, as often as it takes. Throws CommandFailed with exit code 75 and `when_over` once the time is up
  // without an answer, and whatever else time does not heal.
  std::string get(const std::string& target);
  // Until it is worth to look again: soon after what was news, then less and less often. Throws the same if the time
  // is up.
  enum class Observed { change, no_change };
  void pause(Observed seen);

 private:
  void print_once(const CommandFailed& failed);
  void check() const;
  std::chrono::milliseconds left() const;

  using Clock = std::chrono::steady_clock;
  Remote& remote_;
  const Clock::time_point end_;
  const std::string when_over_;
  bool printed_ = false;  // of this time without an answer
  std::chrono::milliseconds pause_{0};
};

}  // namespace restante::cli
