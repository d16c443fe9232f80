#include "net/socket.h"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace restante::net {
namespace {

// Large enough to keep a fast reader busy, small enough that one reader does not occupy the thread.
constexpr std::size_t kFileStep = 1 << 20;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

Socket::ErrorCode last_error() { return {errno, boost::system::system_category()}; }

std::array<asio::const_buffer, 2> buffers(const Socket::Pieces& pieces) {
  return {asio::const_buffer(pieces[0].data(), pieces[0].size()),
          asio::const_buffer(pieces[1].data(), pieces[1].size())};
}

}  // namespace

Socket::Socket(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls)
    : plain_(std::move(socket)), tls_context_(std::move(tls)) {
  ErrorCode ignored;
  plain_.non_blocking(true, ignored);
  if (tls_context_) tls_ = std::make_unique<asio::ssl::stream<tcp::socket>>(std::move(plain_), *tls_context_);
}

asio::awaitable<Socket::ErrorCode> Socket::handshake() {
  ErrorCode ec;
  if (tls_) {
    co_await tls_->async_handshake(asio::ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return ec;
}

asio::awaitable<Socket::ErrorCode> Socket::readable() {
  ErrorCode ec;
  co_await plain_.async_wait(tcp::socket::wait_read, asio::redirect_error(asio::use_awaitable, ec));
  co_return ec;
}

asio::awaitable<std::size_t> Socket::read_some(char* data, std::size_t size, ErrorCode& ec) {
  const asio::mutable_buffer room(data, size);
  std::size_t n = 0;
  if (tls_) {
    n = co_await tls_->async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
    if (ec == asio::ssl::error::stream_truncated) ec = asio::error::eof;
  } else {
    n = co_await plain_.async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
  }
  if (ec == asio::error::eof) ec = {};
  co_return n;
}

std::size_t Socket::read_now(char* data, std::size_t size, ErrorCode& ec) {
  const ssize_t n = ::recv(plain_.native_handle(), data, size, MSG_DONTWAIT);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0) ec = asio::error::eof;
  if (n < 0 && !would_block(errno)) ec = last_error();
  return 0;
}

std::size_t Socket::write_now(const Pieces& pieces, ErrorCode& ec) {
  if (tls_) return 0;
  if (pieces[1].empty()) {
    const ssize_t n = ::send(plain_.native_handle(), pieces[0].data(), pieces[0].size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (!would_block(errno)) ec = last_error();
    return 0;
  }
  std::array<iovec, 2> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t n = ::sendmsg(plain_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (!would_block(errno)) ec = last_error();
  return 0;
}

asio::awaitable<std::size_t> Socket::write_some(const Pieces& pieces, ErrorCode& ec) {
  const auto parts = buffers(pieces);
  std::size_t n = 0;
  if (tls_) {
    n = co_await tls_->async_write_some(parts, asio::redirect_error(asio::use_awaitable, ec));
  } else {
    n = co_await plain_.async_write_some(parts, asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return n;
}

asio::awaitable<std::size_t> Socket::send_file(int fd, std::uint64_t offset, std::uint64_t length, ErrorCode& ec) {
  for (;;) {
    auto from = static_cast<off_t>(offset);
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(length, kFileStep));
    const ssize_t n = ::sendfile(plain_.native_handle(), fd, &from, step);
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    if (!would_block(errno)) {
      ec = last_error();
      co_return 0;
    }
    co_await plain_.async_wait(tcp::socket::wait_write, asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return 0;
  }
}

bool Socket::peer_gone() {
  pollfd state{lowest().native_handle(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void Socket::cancel() {
  ErrorCode ignored;
  lowest().cancel(ignored);
}

void Socket::close() {
  ErrorCode ignored;
  lowest().close(ignored);
}

void Socket::finish_sending() {
  ErrorCode ignored;
  lowest().shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace restante::net
