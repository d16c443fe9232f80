// InboxSearch finds the rows of a query that filters, in bounded steps: one workspace's long inbox must not occupy a
// thread while others wait. A step that finds nothing moves the position from which the next one reads on, so that no
// row is looked at twice. InboxGaps remembers for all requests where nothing matches: a client whose filter never
// matches repeats the same cursor, and rows before a position that was read never change. Only a database that was
// replaced by an older copy gives numbers again: after a lost connection everything is forgotten. A search belongs to
// one request; InboxGaps is thread-safe. Throws Unavailable.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "store/inbox.h"

namespace restante::desk {

class InboxGaps {
 public:
  // The position from which to read on, in the direction of the query: `position`, or the end of the gap that it is in.
  std::int64_t skip(WorkspaceId workspace, const InboxQuery& query, std::int64_t position) const;
  // No row of the workspace with low < seq < high matches what the query filters by. Ignored if forget() was called
  // after that generation.
  void add(std::uint64_t generation, WorkspaceId workspace, const InboxQuery& query, std::int64_t low,
           std::int64_t high);
  // The database may be another one. Positions of running searches end, too.
  void forget();
  std::uint64_t generation() const;

 private:
  struct Gap {
    InboxQuery filter;  // nothing but what it filters by
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  using Gaps = std::vector<Gap>;  // one for each filter; the one that was added to last is the last

  mutable Mutex mutex_;  // requests come on all pool threads
  std::unordered_map<WorkspaceId, Gaps> all_ RESTANTE_GUARDED_BY(mutex_);
  std::uint64_t generation_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

class InboxSearch {
 public:
  InboxSearch(InboxStore& store, InboxGaps& gaps, WorkspaceId workspace, InboxQuery query)
      : store_(store), gaps_(gaps), workspace_(workspace), query_(std::move(query)) {}

  // The next rows; empty if this step found none. Errors as in read_inbox(), by the first step only: a cursor that was
  // there then was read.
  Result<std::vector<InboxRow>> next();
  // Whether there are rows left that no step has looked at. If not, next() finds rows that are appended later.
  bool unfinished() const { return unfinished_; }
  // The next page begins after these rows.
  void pass(const std::vector<InboxRow>& rows) { position_ = rows.back().seq; }

 private:
  void remember(const InboxStep& step);

  InboxStore& store_;
  InboxGaps& gaps_;
  const WorkspaceId workspace_;
  const InboxQuery query_;
  std::optional<std::int64_t> position_;  // none before the first step
  std::uint64_t generation_ = 0;          // of the gaps, at the last step
  bool unfinished_ = false;
};

}  // namespace restante::desk
