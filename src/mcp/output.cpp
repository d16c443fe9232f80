#include "mcp/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace restante::mcp {
namespace {

// A pipe that is ready takes this much without blocking (PIPE_BUF).
constexpr std::size_t kPiece = 4096;

}  // namespace

bool Output::write(std::string_view line) {
  const auto text = std::string(line) + '\n';
  const MutexLock lock(mutex_);
  std::string_view left = text;
  while (!left.empty()) {
    if (closed_.load() || !write_piece(left)) {
      // The next writer must not continue in the middle of a line.
      if (left.size() < text.size()) closed_.store(true);
      return false;
    }
  }
  return true;
}

bool Output::write_piece(std::string_view& bytes) {
  pollfd ready[] = {{descriptor_, POLLOUT, 0}, {stop_.descriptor(), POLLIN, 0}};
  if (poll(ready, 2, -1) < 0) return errno == EINTR;
  if ((ready[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    closed_.store(true);
    return false;
  }
  if ((ready[0].revents & POLLOUT) == 0) return false;  // stop was requested, and the reader does not read
  const auto written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
  if (written < 0) {
    if (errno == EINTR || errno == EAGAIN) return true;
    closed_.store(true);
    return false;
  }
  bytes.remove_prefix(static_cast<std::size_t>(written));
  return true;
}

}  // namespace restante::mcp
