#include "desk/inbox/search.h"

#include <algorithm>
#include <utility>

namespace restante::desk {
namespace {

// About a millisecond.
constexpr int kRowsInAStep = 1000;
// An agent has one filter, a few people with the page open have others.
constexpr std::size_t kMostFilters = 8;
// Some megabytes.
constexpr std::size_t kMostWorkspaces = 16'384;

InboxQuery filter_of(const InboxQuery& query) {
  InboxQuery filter;
  filter.type = query.type;
  filter.source = query.source;
  filter.peer = query.peer;
  filter.chat_only = query.chat_only;
  filter.no_receipts = query.no_receipts;
  return filter;
}

}  // namespace

std::int64_t InboxGaps::skip(WorkspaceId workspace, const InboxQuery& query, std::int64_t position) const {
  const MutexLock lock(mutex_);
  const auto found = all_.find(workspace);
  if (found == all_.end()) return position;
  const auto gap = std::ranges::find(found->second, filter_of(query), &Gap::filter);
  if (gap == found->second.end()) return position;
  if (query.ascends()) return gap->low <= position && position < gap->high ? gap->high - 1 : position;
  return gap->low < position && position <= gap->high ? gap->low + 1 : position;
}

void InboxGaps::add(std::uint64_t generation, WorkspaceId workspace, const InboxQuery& query, std::int64_t low,
                    std::int64_t high) {
  const MutexLock lock(mutex_);
  if (generation != generation_) return;
  if (all_.size() >= kMostWorkspaces && !all_.contains(workspace)) all_.clear();
  Gaps& gaps = all_[workspace];
  Gap added{filter_of(query), low, high};
  if (const auto known = std::ranges::find(gaps, added.filter, &Gap::filter); known != gaps.end()) {
    // Two gaps that touch are one: low and high themselves do not belong to a gap.
    if (known->low < added.high && added.low < known->high) {
      added.low = std::min(added.low, known->low);
      added.high = std::max(added.high, known->high);
    }
    gaps.erase(known);
  }
  if (gaps.size() >= kMostFilters) gaps.erase(gaps.begin());
  gaps.push_back(std::move(added));
}

void InboxGaps::forget() {
  const MutexLock lock(mutex_);
  all_.clear();
  ++generation_;
}

std::uint64_t InboxGaps::generation() const {
  const MutexLock lock(mutex_);
  return generation_;
}

Result<std::vector<InboxRow>> InboxSearch::next() {
  const std::uint64_t generation = gaps_.generation();
  const bool forgotten = std::exchange(generation_, generation) != generation;
  // From the cursor again, which may not exist any more.
  if (forgotten && query_.ascends()) position_.reset();
  InboxQuery query = query_;
  if (query_.ascends()) {
    if (!position_ && !query_.since_id) {
      // The first step checks that the cursor exists, and reads from there.
      const std::int64_t cursor = query_.above_seq ? *query_.above_seq : *query_.since_seq;
      if (cursor == 0 || query_.above_seq) position_ = cursor;
    }
    if (position_) {
      query.since_id.reset();
      query.since_seq.reset();
      query.above_seq = gaps_.skip(workspace_, query_, *position_);
    }
  } else if (position_ || query_.below_seq) {
    query.below_seq = gaps_.skip(workspace_, query_, position_.value_or(query_.below_seq.value_or(0)));
  }
  auto step = store_.search_inbox(workspace_, query, kRowsInAStep);
  if (!step) return step.error();
  unfinished_ = step->rows.empty() && step->more;
  if (step->rows.empty()) remember(*step);
  return std::move(step->rows);
}

void InboxSearch::remember(const InboxStep& step) {
  if (!step.to) return;
  position_ = step.to;
  if (query_.ascends()) {
    gaps_.add(generation_, workspace_, query_, *step.from, *step.to + 1);
  } else {
    gaps_.add(generation_, workspace_, query_, *step.to - 1, *step.from);
  }
}

}  // namespace restante::desk
