// Options: what the HTTP edge is told at start and never changes afterwards (certificates apart, which are re-read on
// SIGHUP). Durations are what a client may cost us, so each has a reason beside it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "http/addresses.h"
#include "http/limits.h"

namespace restante::net {

struct Endpoint {
  std::string host;  // a literal address: 127.0.0.1, ::1, 0.0.0.0
  std::uint16_t port = 8080;
};

struct Timeouts {
  std::chrono::milliseconds header{10'000};       // first byte of a request to the end of its head; beyond → 408
  std::chrono::milliseconds idle{75'000};         // keep-alive with nothing asked; longer than the usual proxy's 60 s
  std::chrono::milliseconds body_grace{15'000};   // before the minimum pace of a body counts
  std::chrono::milliseconds write_stall{30'000};  // a reader that takes nothing at all
  std::chrono::milliseconds request{1'800'000};   // absolute deadline of one request, its body included
  std::chrono::milliseconds drain{30'000};        // how long a stop waits for requests under way
  std::chrono::milliseconds linger{1'000};        // reading on after a refusal, so that the client sees the answer
};

// Which requests get a log line of their own. State changes and failures are logged either way.
enum class LogRequests { none, errors, all };

struct Options {
  std::vector<Endpoint> listen{{"127.0.0.1", 8080}};
  std::string tls_certificate;                   // PEM chain; empty = plain HTTP
  std::string tls_key;                           // PEM key
  unsigned io_threads = 0;                       // 0 = one per core
  unsigned pool_threads = 16;                    // handlers that may block on the store or a disk
  unsigned bytes_threads = 0;                    // of their own for bytes that live elsewhere: a place that hangs takes
                                                 // none from polls and acks; 0 = bytes are files, the pool reads them
  std::size_t body_without_bytes = 16'384;       // no part of a body up to this long ever gets to where bytes live
  std::uint64_t min_rate = 1024;                 // bytes per second, for senders after the grace and for readers
  std::size_t connections = 0;                   // 0 = what the open-file limit allows
  std::size_t connections_per_address = 16'384;  // IPv6: per /64
  std::size_t parked_per_owner = 8;              // held polls of one token; one more answers the oldest empty
  std::vector<http::Network> trusted_proxies;    // whose forwarded headers count
  LogRequests log_requests = LogRequests::errors;
  http::Limits limits;
  Timeouts timeouts;
};

}  // namespace restante::net
