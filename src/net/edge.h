// Edge: the HTTP server. It is given a router and performs the responses that come out of it; it knows nothing of what
// the routes mean. It owns its I/O threads and its pools. Connections are spread over the I/O threads, each with an
// event loop of its own, so that two threads share nothing but the waiters and the counters. start(), stop() and
// reload_tls() are called from one thread; the bell is thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop_tick.h"
#include "base/metrics.h"
#include "http/router.h"
#include "net/options.h"

namespace restante::net {

class Edge {
 public:
  Edge(Options options, const Clock& clock, Log& log, Metrics& metrics);
  // As stop(), if it has not been called.
  ~Edge();

  // Wakes held requests. Valid as long as the edge.
  Bell& bell();

  // Binds and serves; the router must outlive the edge. Throws std::runtime_error with a sentence for the operator when
  // an address cannot be bound or a certificate not be read.
  void start(const http::Router& router);
  // http://127.0.0.1:8080, one for each listening address, with the port that was really bound.
  std::vector<std::string> addresses() const;

  // Runs `job` on the pool every `period`, from start() on, never twice at the same time. What it throws is logged
  // under `name`; the next run comes all the same.
  void every(std::chrono::milliseconds period, std::string name, std::function<void()> job);
  // How they are doing, in the order they were given. Any thread, once they all were.
  std::vector<LoopTick> loops() const;

  // Asks another server while no client waits, see errand.h. Any thread, from start() on. stop() waits for it as for a
  // request.
  void call(http::Forward order);

  // Reads certificate and key anew; new connections get them. False, and the old ones stay, when they cannot be used.
  bool reload_tls();

  // No new connections; held requests are answered empty, requests under way finish, at most for the drain time.
  void stop();
  // Ends a stop() that is under way, from any thread: nothing is waited for any more.
  void stop_now();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace restante::net
