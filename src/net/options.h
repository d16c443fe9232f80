// Options of the HTTP edge, set at start and never changed afterwards (except for certificates, which are read again on
// SIGHUP). Each duration limits what a client may cost us, so each has a reason beside it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "http/addresses.h"
#include "http/head_parser.h"

namespace restante::net {

struct Endpoint {
  std::string host;  // a literal address: 127.0.0.1, ::1, 0.0.0.0
  std::uint16_t port = 8080;
};

struct Timeouts {
  std::chrono::milliseconds header{10'000};       // first byte of a request to the end of its head; beyond → 408
  std::chrono::milliseconds idle{75'000};         // keep-alive without a request; longer than the usual proxy's 60 s
  std::chrono::milliseconds body_grace{15'000};   // before the minimum rate of a body applies
  std::chrono::milliseconds write_stall{30'000};  // a reader that accepts nothing at all
  std::chrono::milliseconds request{1'800'000};   // absolute deadline of one request, its body included
  std::chrono::milliseconds drain{30'000};        // how long a stop waits for running requests
  std::chrono::milliseconds linger{1'000};  // how long we read on after a refusal, so that the client gets the answer
};

// Which requests get a log line. State changes and failures are always logged.
enum class LogRequests { none, errors, all };

struct Options {
  std::vector<Endpoint> listen{{"127.0.0.1", 8080}};
  std::string tls_certificate;                   // PEM chain; empty = plain HTTP
  std::string tls_key;                           // PEM key
  unsigned io_threads = 0;                       // 0 = one per core
  unsigned pool_threads = 16;                    // handlers that may block on the store or a disk
  unsigned bytes_threads = 0;                    // separate threads for file content on another machine: a place that
                                                 // hangs blocks no polls and acks; 0 = the pool reads local files
  std::size_t body_without_bytes = 16'384;       // a body up to this size never reaches the place of the files
  std::uint64_t min_rate = 1024;                 // bytes per second, for senders after the grace time and for readers
  std::size_t connections = 0;                   // 0 = as the open-file limit allows
  std::size_t connections_per_address = 16'384;  // IPv6: per /64
  std::size_t parked_per_owner = 8;              // held polls of one token; with one more the oldest is answered empty
  std::vector<http::Network> trusted_proxies;    // their forwarded headers are trusted
  LogRequests log_requests = LogRequests::errors;
  http::Limits limits;
  Timeouts timeouts;
};

}  // namespace restante::net
