#include "agent/stop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace restante::agent {

Stop::Stop() {
  if (pipe(pipe_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  for (const int end : pipe_) fcntl(end, F_SETFD, FD_CLOEXEC);
}

Stop::~Stop() {
  for (const int end : pipe_) close(end);
}

void Stop::request() noexcept {
  const int saved = errno;
  if (!requested_.exchange(true)) [[maybe_unused]]
    const auto written = write(pipe_[1], "", 1);
  errno = saved;
}

bool Stop::wait_for(std::chrono::milliseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    pollfd entry{pipe_[0], POLLIN, 0};
    poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
  return requested();
}

void Stop::wait() const {
  while (!wait_for(std::chrono::hours(1))) {
  }
}

}  // namespace restante::agent
