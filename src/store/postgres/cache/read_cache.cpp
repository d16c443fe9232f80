#include "store/postgres/cache/read_cache.h"

#include <algorithm>
#include <ranges>

namespace restante::postgres {
namespace {

// An agent repeats one query; a few people with the page open use others.
constexpr std::size_t kMostQueries = 4;

}  // namespace

bool ReadCache::is_trusted() {
  // Read before it is written: otherwise all threads would write to the same cache line all the time.
  if (!used_.load(std::memory_order_relaxed)) used_ = true;
  return std::chrono::steady_clock::now() < trusted_until_.load();
}

bool ReadCache::contains(const Queries& known, const InboxQuery& query) {
  return std::ranges::find(known, query) != known.end();
}

void ReadCache::add(Queries& known, const InboxQuery& query) {
  if (contains(known, query)) return;
  if (known.size() == kMostQueries) known.erase(known.begin());
  known.push_back(query);
}

void ReadCache::forget(const ChangeSet& change_set) {
  if (!change_set.revoked.empty()) tokens_.clear();
  deliveries_.forget(change_set.changed);
  empty_.forget(change_set.changed);
  empty_.forget(change_set.pruned);
  empty_.forget(std::views::keys(change_set.appended));
}

void ReadCache::forget_everything() {
  tokens_.clear();
  deliveries_.forget_everything();
  empty_.forget_everything();
}

}  // namespace restante::postgres
