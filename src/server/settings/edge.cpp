#include "server/settings/kinds.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1024 * 1024;

std::string some_roots(const std::string& text) {
  if (text == "talk" || text == "isolated") return text;
  throw BadValue("must be talk or isolated");
}

}  // namespace

std::vector<Setting> edge_settings() {
  return {
      text("tls.certificate", RESTANTE_FIELD(net.tls_certificate),
           "PEM file with the certificate and its chain; empty = plain HTTP. Read again on SIGHUP.", any_text),
      text("tls.key", RESTANTE_FIELD(net.tls_key), "PEM file with the private key; must not be readable by all users.",
           any_text),

      number("threads.io", RESTANTE_FIELD(net.io_threads), 0, 1'024,
             "I/O threads; 0 = one per core. More than cores only adds switching."),
      number("threads.pool", RESTANTE_FIELD(net.pool_threads), 1, 1'024,
             "Threads for work that blocks on the store or a disk. Too few, and requests queue behind a slow disk."),

      number("limits.request_line", RESTANTE_FIELD(net.limits.request_line), 64, kMiB,
             "Bytes of a request line, beyond it 414. It contains cursors and filters."),
      number("limits.header_bytes", RESTANTE_FIELD(net.limits.header_bytes), 64, kMiB,
             "Bytes of all headers of a request, beyond it 431. Held in memory for every connection."),
      number("limits.header_count", RESTANTE_FIELD(net.limits.header_count), 1, 10'000,
             "Headers of a request, beyond it 431."),
      number("limits.json_body", RESTANTE_FIELD(net.limits.json_body), 1, 64 * kMiB,
             "Bytes of a JSON body, beyond it 413. Read into memory as a whole."),
      number("limits.connections", RESTANTE_FIELD(net.connections), 0, 10'000'000,
             "Connections at once; 0 = as many as the open-file limit allows. Beyond it new ones wait or are closed."),
      number(
          "limits.connections_per_address", RESTANTE_FIELD(net.connections_per_address), 1, 10'000'000,
          "Connections of one address (IPv6: of one /64). Behind a proxy all clients share one: keep it high there."),
      number("limits.invalid_tokens_per_minute", RESTANTE_FIELD(invalid_tokens_per_minute), 1, 1'000'000'000,
             "Invalid tokens of one address (IPv6: of one /64) in a minute, beyond it 429. Valid tokens are never "
             "affected."),
      number("limits.polls_per_token", RESTANTE_FIELD(net.parked_per_owner), 1, 10'000,
             "Held polls of one token; with one more the oldest is answered empty."),

      duration("timeouts.header", RESTANTE_FIELD(net.timeouts.header), 1ms, 1h,
               "From the first byte of a request to the end of its head, beyond it 408. Long = slow senders hold "
               "connections."),
      duration(
          "timeouts.idle", RESTANTE_FIELD(net.timeouts.idle), 1ms, 24h,
          "A kept-alive connection without a request. Shorter than the 60s of most proxies makes them answer 502."),
      duration("timeouts.body_grace", RESTANTE_FIELD(net.timeouts.body_grace), 1ms, 1h,
               "How long a body may be slower than timeouts.min_rate before it is cut."),
      number("timeouts.min_rate", RESTANTE_FIELD(net.min_rate), 1, 1'000'000'000,
             "Bytes per second that senders (after the grace) and readers must reach on average. High = slow "
             "connections are "
             "cut."),
      duration("timeouts.write_stall", RESTANTE_FIELD(net.timeouts.write_stall), 1ms, 1h,
               "A reader that takes nothing at all for this long is cut."),
      duration("timeouts.request", RESTANTE_FIELD(net.timeouts.request), 1ms, 24h,
               "Absolute deadline of one request with its body. Orphaned files are deleted only after it."),
      duration("timeouts.drain", RESTANTE_FIELD(net.timeouts.drain), 0ms, 1h,
               "How long a stop waits for running requests. Keep it below the service manager's kill."),
      duration("timeouts.linger", RESTANTE_FIELD(net.timeouts.linger), 0ms, 1min,
               "How long the server reads on after a refusal, so that the client gets the answer and not a reset."),

      choice("log.level", RESTANTE_FIELD(log.level), {"debug", "info", "warn", "error"},
             "debug, info, warn or error: the least that is logged. debug fills disks."),
      choice("log.requests", RESTANTE_FIELD(net.log_requests), {"none", "errors", "all"},
             "Which requests get a line: errors, all or none. all costs CPU and disk at thousands a second."),

      duration(
          "metrics.sample_every", RESTANTE_FIELD(metrics.sample_every), 10ms, 24h,
          "How often the figures for the page's charts are taken. The last 1440 are kept, in memory: with 1m that is "
          "a day."),
      text("metrics.token_file", RESTANTE_FIELD(metrics.token_file),
           "File with a token of at least 16 characters that may read /metrics; must not be readable by all users. On "
           "loopback without public_url and trusted_proxies /metrics is open, else it needs this or the operator's "
           "token.",
           any_text),

      text("access.roots", RESTANTE_FIELD(access_roots),
           "Whether workspaces without a parent may talk to each other: talk, or isolated where several parties share "
           "the server.",
           some_roots),
  };
}

}  // namespace restante
