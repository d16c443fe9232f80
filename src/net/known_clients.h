// KnownClients remembers which client presented a secret, as a guard has verified it, so that the next request with
// that secret gets its turns on the pool (net/thread_pool.h) from the beginning. A secret that no guard has verified is
// never in here, whatever a client invents. Bounded: of many secrets the ones that were used last stay. Belongs to an
// I/O thread.
#pragma once
#include <cstddef>
#include <functional>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace restante::net {

class KnownClients {
 public:
  explicit KnownClients(std::size_t most) : most_(most) {}

  // The group of the client; 0 when the secret is not known.
  std::size_t find(std::string_view secret) {
    if (secret.empty()) return 0;
    const std::size_t key = std::hash<std::string_view>()(secret);
    if (const auto found = recent_.find(key); found != recent_.end()) return found->second;
    const auto found = older_.find(key);
    if (found == older_.end()) return 0;
    const std::size_t group = found->second;
    keep(key, group);
    return group;
  }
  void remember(std::string_view secret, std::size_t group) {
    if (!secret.empty()) keep(std::hash<std::string_view>()(secret), group);
  }
  // A guard has refused it.
  void forget(std::string_view secret) {
    const std::size_t key = std::hash<std::string_view>()(secret);
    recent_.erase(key);
    older_.erase(key);
  }

 private:
  // When the one half is full, the other half, which was used before, leaves. Never throws: a client that is not
  // remembered has its turns a little later.
  void keep(std::size_t key, std::size_t group) noexcept {
    try {
      if (recent_.size() >= most_ / 2 && !recent_.contains(key)) older_ = std::exchange(recent_, {});
      recent_[key] = group;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is not remembered
    }
  }

  const std::size_t most_;
  std::unordered_map<std::size_t, std::size_t> recent_;
  std::unordered_map<std::size_t, std::size_t> older_;
};

}  // namespace restante::net
