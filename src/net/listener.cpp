#include "net/listener.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "base/error.h"
#include "base/until_memory.h"

namespace restante::net {
namespace {

constexpr int kAtOnce = 32;  // connections that are accepted before the thread does other work
constexpr auto kBackOff = std::chrono::milliseconds(50);

void set_option(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof(value)); }

// The kernel detects a pulled cable or a client that accepts nothing within a minute; no thread has to check.
void prepare(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

}  // namespace

Listener::Listener(const Endpoint& endpoint, Shared& shared, std::vector<std::unique_ptr<IoThread>>& threads)
    : shared_(shared), threads_(threads), acceptor_(threads.front()->context()), pause_(threads.front()->context()) {
  const std::string shown = fmt::format("{}:{}", endpoint.host, endpoint.port);
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(endpoint.host, ec);
  if (ec) throw std::runtime_error(fmt::format("listen: {} is not an address; use one like 127.0.0.1:8080", shown));
  const tcp::endpoint endpoint_address(address, endpoint.port);
  protocol_ = endpoint_address.protocol();
  acceptor_.open(protocol_, ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(true), ec);
  if (!ec) acceptor_.bind(endpoint_address, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) acceptor_.native_non_blocking(true, ec);
  if (ec == asio::error::address_in_use) {
    throw Unavailable(
        fmt::format("listen: {} is in use by another program; choose another port, or 0 for a free one", shown));
  }
  if (ec) throw Unavailable(fmt::format("listen: cannot listen on {}: {}", shown, ec.message()));
}

std::string Listener::address() const {
  const auto endpoint_address = acceptor_.local_endpoint();
  const std::string host = endpoint_address.address().is_v6()
                               ? fmt::format("[{}]", endpoint_address.address().to_string())
                               : endpoint_address.address().to_string();
  return fmt::format("{}://{}:{}", shared_.tls ? "https" : "http", host, endpoint_address.port());
}

void Listener::start() {
  asio::post(threads_.front()->context(), [this] { accept(); });
}

void Listener::stop() {
  stopped_.store(true);
  asio::post(threads_.front()->context(), [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  });
}

IoThread& Listener::least_loaded() {
  IoThread* best = threads_.front().get();
  for (const auto& thread : threads_) {
    if (thread->load() < best->load()) best = thread.get();
  }
  return *best;
}

void Listener::accept() {
  if (stopped_.load()) return;
  // Not async_accept: it makes the socket before it calls back, and without memory for that it never calls back.
  until_memory([this] {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const boost::system::error_code& ec) {
      ec ? pause(ec, least_loaded()) : accept_waiting();
    });
  });
}

void Listener::accept_waiting() {
  for (int accepted = 0; accepted < kAtOnce && !stopped_.load(); ++accepted) {
    IoThread& thread = least_loaded();
    Fd client(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    const int error = errno;
    if (client) {
      start_connection(std::move(client), thread);
    } else if (error == EAGAIN) {
      break;
    } else if (error != EINTR && error != ECONNABORTED) {
      return pause({error, boost::system::system_category()}, thread);
    }
  }
  accept();
}

// Most likely out of descriptors: closes the connection that has been idle longest.
void Listener::pause(const boost::system::error_code& failure, IoThread& thread) {
  if (stopped_.load()) return;
  try {
    shared_.metrics.refused("accept_failed").Increment();
    shared_.log.warn("accept_failed", {{"reason", failure.message()}});
    thread.evict_idle([](bool) {});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the pause alone may help
  }
  pause_.expires_after(kBackOff);
  until_memory([this] { pause_.async_wait([this](const boost::system::error_code&) { accept(); }); });
}

void Listener::start_connection(Fd client, IoThread& thread) {
  try {
    tcp::socket socket(thread.context());
    socket.assign(protocol_, client.get());
    (void)client.release();
    admit(std::move(socket), thread);
  } catch (const std::exception& e) {
    shared_.log.error("accept_failed", {{"reason", e.what()}});  // out of memory: only this connection is lost
  }
}

void Listener::admit(tcp::socket socket, IoThread& thread) {
  boost::system::error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  if (ec) return;
  prepare(socket.native_handle());
  // Made before the connection is counted: an exception in between would leave it counted for good.
  std::string address = peer.address().to_string();
  std::string key = http::limit_key(address);
  switch (shared_.counts.enter(key)) {
    case ConnectionCounts::Admission::admitted:
      thread.adopt(std::move(socket), std::move(address), std::move(key));
      return;
    case ConnectionCounts::Admission::full:
      make_room(std::make_shared<tcp::socket>(std::move(socket)), thread, address, key, 0);
      return;
    case ConnectionCounts::Admission::too_many_from_there:
      shared_.metrics.refused("connections_per_address").Increment();
      return;
  }
}

void Listener::make_room(std::shared_ptr<tcp::socket> socket, IoThread& thread, std::string address, std::string key,
                         std::size_t next_thread) {
  if (next_thread == threads_.size()) {
    shared_.metrics.refused("connections").Increment();
    return;
  }
  threads_[next_thread]->evict_idle([this, socket, &thread, address, key, next_thread](bool evicted) {
    if (!evicted) return make_room(socket, thread, address, key, next_thread + 1);
    std::string own_address = address;
    std::string own_key = key;
    shared_.counts.replace(key);
    thread.adopt(std::move(*socket), std::move(own_address), std::move(own_key));
  });
}

}  // namespace restante::net
