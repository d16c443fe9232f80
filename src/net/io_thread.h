// IoThread: one event loop on one thread, and its connections. A connection stays on its thread for life, so it needs
// no lock. A slow tick checks the deadlines of all connections, instead of a timer for each: to move a deadline costs a
// store to memory, not a heap operation. adopt(), drain() and abandon() may be called from any thread; everything else
// belongs to the loop.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <thread>

#include <boost/asio.hpp>

#include "net/known_clients.h"
#include "net/shared.h"
#include "net/socket.h"

namespace restante::net {

class Connection;

class IoThread {
 public:
  IoThread(unsigned index, Shared& shared);
  ~IoThread();

  void start();
  asio::io_context& context() { return context_; }
  asio::any_io_executor executor() { return context_.get_executor(); }
  // The number of its connections; the listener gives a new one to the thread with the fewest.
  std::size_t load() const { return load_.load(std::memory_order_relaxed); }

  void adopt(tcp::socket socket, std::string peer, std::string key);
  // Closes the connection that has been idle longest, to make room for a new one; then calls `done` on this thread with
  // whether there was one.
  void evict_idle(std::function<void(bool evicted)> done);
  // Closes idle connections at once, and the others after their current request.
  void drain();
  // Closes every connection now.
  void abandon();
  // Lets the loop end and waits for its thread.
  void join();

  Shared& shared() { return shared_; }
  // The Date header's value, made once a second.
  std::string_view date(std::chrono::steady_clock::time_point now);
  // Unique in this process, and unlikely to equal an id of another process.
  std::string make_request_id();
  prometheus::Counter& requests() { return requests_; }
  // Memory that code on this thread may use until it suspends: small requests and their answers need no separate
  // buffers.
  std::span<char> scratch() { return scratch_; }
  std::string& answer() { return answer_; }
  KnownClients& known_clients() { return known_clients_; }

  // Kept by connections: the front is the one whose last request is longest ago.
  std::list<Connection*>& connections() { return connections_; }
  void forget(std::list<Connection*>::iterator position, const std::string& key);

 private:
  void run();
  void begin(tcp::socket socket, std::string peer, const std::string& key);
  void tick();

  Shared& shared_;
  // Declared before the loop: connections that the loop still has at its destruction remove themselves from this list.
  std::list<Connection*> connections_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  asio::steady_timer ticker_{context_};
  std::chrono::milliseconds period_;
  std::atomic<std::size_t> load_{0};
  prometheus::Gauge& gauge_;
  prometheus::Counter& requests_;
  std::array<char, 16 << 10> scratch_;
  std::string answer_;
  KnownClients known_clients_{8'192};
  std::string date_;
  std::chrono::steady_clock::time_point date_until_{};
  std::uint64_t id_prefix_ = 0;
  std::uint32_t id_count_ = 0;
  std::thread thread_;
};

}  // namespace restante::net
