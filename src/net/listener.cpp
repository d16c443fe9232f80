#include "net/listener.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <stdexcept>

#include <fmt/format.h>

namespace restante::net {
namespace {

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
    : shared_(shared), threads_(threads), acceptor_(threads.front()->context()) {
  const std::string shown = fmt::format("{}:{}", endpoint.host, endpoint.port);
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(endpoint.host, ec);
  if (ec) throw std::runtime_error(fmt::format("listen: {} is not an address; use one like 127.0.0.1:8080", shown));
  const tcp::endpoint endpoint_address(address, endpoint.port);
  acceptor_.open(endpoint_address.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(true), ec);
  if (!ec) acceptor_.bind(endpoint_address, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec == asio::error::address_in_use) {
    throw std::runtime_error(
        fmt::format("listen: {} is in use by another program; choose another port, or 0 for a free one", shown));
  }
  if (ec) throw std::runtime_error(fmt::format("listen: cannot listen on {}: {}", shown, ec.message()));
}

std::string Listener::address() const {
  const auto endpoint_address = acceptor_.local_endpoint();
  const std::string host = endpoint_address.address().is_v6()
                               ? fmt::format("[{}]", endpoint_address.address().to_string())
                               : endpoint_address.address().to_string();
  return fmt::format("{}://{}:{}", shared_.tls ? "https" : "http", host, endpoint_address.port());
}

void Listener::start() { asio::co_spawn(threads_.front()->context(), accept(), asio::detached); }

void Listener::stop() {
  stopped_.store(true);
  asio::post(threads_.front()->context(), [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  });
}

IoThread& Listener::least_loaded() {
  IoThread* best = threads_.front().get();
  for (const auto& thread : threads_) {
    if (thread->load() < best->load()) best = thread.get();
  }
  return *best;
}

asio::awaitable<void> Listener::accept() {
  asio::steady_timer pause(threads_.front()->context());
  while (!stopped_.load()) {
    IoThread& thread = least_loaded();
    boost::system::error_code ec;
    tcp::socket socket =
        co_await acceptor_.async_accept(thread.context(), asio::redirect_error(asio::use_awaitable, ec));
    if (!ec) {
      try {
        start_connection(std::move(socket), thread);
      } catch (const std::exception& e) {
        shared_.log.error("accept_failed", {{"reason", e.what()}});  // out of memory: only this connection is lost
      }
      continue;
    }
    if (stopped_.load()) co_return;
    shared_.metrics.refused("accept_failed").Increment();
    shared_.log.warn("accept_failed", {{"reason", ec.message()}});
    // Most likely out of descriptors: close the connection that has been idle longest.
    thread.evict_idle([](bool) {});
    pause.expires_after(kBackOff);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
}

void Listener::start_connection(tcp::socket socket, IoThread& thread) {
  boost::system::error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  if (ec) return;
  prepare(socket.native_handle());
  const std::string address = peer.address().to_string();
  const std::string key = http::limit_key(address);
  switch (shared_.counts.enter(key)) {
    case ConnectionCounts::Admission::admitted:
      thread.adopt(std::move(socket), address, key);
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
    shared_.counts.replace(key);
    thread.adopt(std::move(*socket), address, key);
  });
}

}  // namespace restante::net
