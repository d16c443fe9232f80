#include "net/shared.h"

#include <sys/resource.h>

namespace restante::net {
namespace {

// Descriptors that are not client connections: the store, blobs being read and written, the log.
constexpr std::size_t kOwnFiles = 512;

std::size_t connection_limit(std::size_t configured) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  // Raise the limit as far as allowed: the low soft limit only protects programs that use select().
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto open_files = static_cast<std::size_t>(files.rlim_cur);
  const std::size_t possible = open_files > 2 * kOwnFiles ? open_files - kOwnFiles : open_files / 2;
  return configured == 0 ? possible : std::min(configured, possible);
}

}  // namespace

ConnectionCounts::Admission ConnectionCounts::enter(const std::string& key) {
  const MutexLock lock(mutex_);
  std::size_t& here = by_address_[key];
  if (here >= most_per_address_) return Admission::too_many_from_there;
  if (total_ >= most_) {
    if (here == 0) by_address_.erase(key);
    return Admission::full;
  }
  ++here;
  ++total_;
  return Admission::admitted;
}

void ConnectionCounts::replace(const std::string& key) {
  const MutexLock lock(mutex_);
  ++by_address_[key];
  ++total_;
}

void ConnectionCounts::leave(const std::string& key) {
  const MutexLock lock(mutex_);
  --total_;
  const auto here = by_address_.find(key);
  if (--here->second == 0) by_address_.erase(here);
}

std::size_t ConnectionCounts::total() const {
  const MutexLock lock(mutex_);
  return total_;
}

Shared::Shared(Options opts, const Clock& the_clock, Log& the_log, Metrics& the_metrics)
    : options(std::move(opts)),
      clock(the_clock),
      log(the_log),
      metrics(the_metrics),
      pool(std::make_shared<ThreadPool>(options.pool_threads)),
      // All awake: they spend their time waiting for another machine.
      bytes_pool(options.bytes_threads > 0 ? std::make_shared<ThreadPool>(options.bytes_threads, options.bytes_threads)
                                           : pool),
      waiters(options.parked_per_owner, metrics),
      counts(connection_limit(options.connections), options.connections_per_address) {
  if (!options.tls_certificate.empty()) tls = std::make_unique<Tls>(options.tls_certificate, options.tls_key);
  for (const char* status_class : {"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"}) {
    responses.push_back(&metrics.http_responses(status_class));
  }
}

void Shared::use(const http::Router& the_router) {
  router = &the_router;
  for (const http::Route& route : the_router.routes()) {
    durations.push_back(&metrics.http_duration(name_of(route.method), route.pattern));
  }
  durations.push_back(&metrics.http_duration("other", "unmatched"));
}

void Shared::account(const http::Route* route, std::size_t index, int status,
                     std::chrono::steady_clock::duration took) {
  durations[route ? index : durations.size() - 1]->Observe(std::chrono::duration<double>(took).count());
  responses[std::min<std::size_t>(static_cast<std::size_t>(status / 100), responses.size() - 1)]->Increment();
}

}  // namespace restante::net
