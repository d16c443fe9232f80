// Shared: what all connections of an edge have in common. Created before the first connection and destroyed after the
// last one. Everything in it is constant, atomic, or documented as thread-safe.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "http/router.h"
#include "net/options.h"
#include "net/thread_pool.h"
#include "net/tls.h"
#include "net/waiters.h"

namespace restante::net {

// The number of connections, in total and per client address.
class ConnectionCounts {
 public:
  enum class Admission { admitted, full, too_many_from_there };

  ConnectionCounts(std::size_t total, std::size_t per_address) : most_(total), most_per_address_(per_address) {}
  Admission enter(const std::string& key);
  // Counts one connection that replaces one about to close: for a moment there is one more than the limit.
  void replace(const std::string& key);
  void leave(const std::string& key);
  std::size_t total() const;

 private:
  const std::size_t most_;
  const std::size_t most_per_address_;
  mutable Mutex mutex_;  // connections open and close on all I/O threads
  std::size_t total_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::size_t> by_address_ RESTANTE_GUARDED_BY(mutex_);
};

struct Shared {
  Shared(Options opts, const Clock& the_clock, Log& the_log, Metrics& the_metrics);
  void use(const http::Router& the_router);

  const Options options;
  const Clock& clock;
  Log& log;
  Metrics& metrics;
  const http::Router* router = nullptr;
  std::unique_ptr<Tls> tls;
  std::shared_ptr<ThreadPool> pool;  // until the edge has stopped
  // the same; it is `pool` itself when there are no separate threads for file content
  std::shared_ptr<ThreadPool> bytes_pool;
  Waiters waiters;
  ConnectionCounts counts;
  std::atomic<bool> draining{false};

  // By index of the route; the last one is for requests that no route took.
  std::vector<prometheus::Histogram*> durations;
  std::vector<prometheus::Counter*> responses;  // by status / 100

  void account(const http::Route* route, std::size_t index, int status, std::chrono::steady_clock::duration took);
};

}  // namespace restante::net
