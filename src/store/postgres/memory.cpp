#include "store/postgres/memory.h"

#include <algorithm>
#include <ranges>

namespace restante::postgres {
namespace {

// An agent asks one question over and over; a few people with the page open ask others.
constexpr std::size_t kMostQuestions = 4;

}  // namespace

bool Memory::is_trusted() {
  // Looked at first: otherwise all threads would write to the same place, all the time.
  if (!asked_.load(std::memory_order_relaxed)) asked_ = true;
  return std::chrono::steady_clock::now() < trusted_until_.load();
}

bool Memory::contains(const Questions& known, const ActivityQuery& query) {
  return std::ranges::find(known, query) != known.end();
}

void Memory::add(Questions& known, const ActivityQuery& query) {
  if (contains(known, query)) return;
  if (known.size() == kMostQuestions) known.erase(known.begin());
  known.push_back(query);
}

void Memory::forget(const News& news) {
  if (!news.revoked.empty()) tokens_.clear();
  deliveries_.forget(news.changed);
  empty_.forget(news.changed);
  empty_.forget(news.pruned);
  empty_.forget(std::views::keys(news.appended));
}

void Memory::forget_everything() {
  tokens_.clear();
  deliveries_.forget_everything();
  empty_.forget_everything();
}

}  // namespace restante::postgres
