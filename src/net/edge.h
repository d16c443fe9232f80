// Edge: the HTTP server. It is given a router and performs the responses of its routes; it does not know what the
// routes mean. It owns its I/O threads and its pools. Connections are spread over the I/O threads, each with a separate
// event loop, so that two threads share only the waiters and the metrics. start(), stop() and reload_tls() are called
// from one thread; the bell is thread-safe.
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
  // Calls stop() if it has not been called.
  ~Edge();

  // Wakes held requests. Valid as long as the edge.
  Bell& bell();

  // Binds and serves; the router must outlive the edge. Throws std::runtime_error with a sentence for the operator when
  // an address cannot be bound or a certificate cannot be read.
  void start(const http::Router& router);
  // http://127.0.0.1:8080, one for each listening address, with the port that was actually bound.
  std::vector<std::string> addresses() const;

  // Runs `job` on the pool every `period`, from start() on, never twice at the same time. An exception is logged under
  // `name`, and the next run follows as usual.
  void every(std::chrono::milliseconds period, std::string name, std::function<void()> job);
  // The state of these loops, in the order of the calls. Any thread, after the last call of every().
  std::vector<LoopTick> loops() const;

  // Calls another server while no client waits, see run_background_call(). Any thread, from start() on. stop() waits
  // for it as for a request.
  void call(http::Forward order);

  // Reads certificate and key again; new connections get them. Returns false and keeps the old ones when they cannot be
  // used.
  bool reload_tls();

  // Accepts no new connections, answers held requests empty, and waits for running requests, at most for the drain
  // time.
  void stop();
  // Makes a running stop() return without further waiting. From any thread.
  void stop_now();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace restante::net
