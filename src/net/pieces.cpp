// The part of Connection that sends content that the kernel cannot send itself: it is not a file on disk, or the
// connection is TLS. Alternately the threads for file content read a piece and the connection sends it, so that a slow
// reader occupies memory for one piece and no thread.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "net/connection.h"

namespace restante::net {
namespace {

constexpr std::size_t kPiece = 256 << 10;

std::size_t read_slice(const http::FileSlice& slice, std::uint64_t at, std::span<char> into) {
  if (slice.fd < 0) return slice.read(at, into);
  ssize_t n = -1;
  do {
    n = ::pread(slice.fd, into.data(), into.size(), static_cast<off_t>(at));
  } while (n < 0 && errno == EINTR);
  if (n < 0) throw std::system_error(errno, std::system_category(), "a file cannot be read");
  return static_cast<std::size_t>(n);
}

}  // namespace

asio::awaitable<std::size_t> Connection::next_piece(const http::Request& request, const http::FileSlice& slice,
                                                    std::uint64_t sent, std::span<char> room) {
  auto fill = [&] {
    std::size_t filled = 0;
    std::size_t n = 1;
    while (n > 0 && filled < room.size()) {
      n = read_slice(slice, slice.offset + sent + filled, room.subspan(filled));
      filled += n;
    }
    return filled;
  };
  std::string reason = "it is shorter than promised";
  try {
    const std::size_t filled = co_await on_pool(*shared().bytes_pool, fill, group_);
    if (filled > 0) co_return filled;
  } catch (const std::exception& e) {
    reason = e.what();
  } catch (...) {
    reason = "not an exception";
  }
  shared().log.error("answer_cut", {{"request_id", request.request_id},
                                    {"sent", static_cast<std::int64_t>(sent)},
                                    {"length", static_cast<std::int64_t>(slice.length)},
                                    {"reason", reason}});
  co_return 0;
}

asio::awaitable<bool> Connection::send_pieces(const http::Request& request, const http::FileSlice& slice) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(slice.length, kPiece));
  const auto room = std::make_unique_for_overwrite<char[]>(size);
  const auto started = std::chrono::steady_clock::now();
  SteadyTime::duration held{0};  // how long the reader waited for us; not counted when its pace is measured
  std::unique_ptr<Waiters::Armed> ends;
  auto may_go_on = [&slice] { return slice.may_go_on(); };
  Socket::Pieces left{};
  std::uint64_t sent = 0;
  while (sent < slice.length) {
    if (left[0].empty()) {
      const auto before = std::chrono::steady_clock::now();
      const std::span<char> into(room.get(),
                                 static_cast<std::size_t>(std::min<std::uint64_t>(size, slice.length - sent)));
      const std::size_t filled = co_await next_piece(request, slice, sent, into);
      // The connection is cut, so that no client takes the answer for complete.
      if (filled == 0 || expired_) co_return false;
      left[0] = {room.get(), filled};
      held += std::chrono::steady_clock::now() - before;
    }
    const auto pace = std::chrono::milliseconds(sent * 1000 / std::max<std::uint64_t>(1, shared().options.min_rate));
    const auto now = std::chrono::steady_clock::now();
    arm(std::min(now, started + held + pace) + timeouts().write_stall);
    boost::system::error_code ec;
    const std::size_t n = co_await socket_.write_some(left, ec);
    disarm();
    if (ec || n == 0 || expired_) co_return false;
    left[0].remove_prefix(n);
    sent += n;
    if (sent == slice.length || !slice.may_go_on) continue;
    const bool first = !ends;
    if (first) ends = shared().waiters.arm(io_thread_.executor(), slice.topics, {});
    if (!first && !ends->waiter().take_ring()) continue;
    const bool allowed = co_await on_pool(*shared().pool, may_go_on, group_);
    if (!allowed) co_return false;
  }
  co_return true;
}

}  // namespace restante::net
