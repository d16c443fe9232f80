// WorkspaceCache keeps one value for each of many workspaces until it is forgotten. A value that was read before its
// workspace was forgotten is not kept after it: a reader takes the workspace's generation before it reads. When there
// are too many values, all are forgotten; that costs one read each. Thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"
#include "model/ids.h"

namespace restante::postgres {

template <class Value>
class WorkspaceCache {
 public:
  // Returns what `see(const Value&)` returns; `nothing` when there is no value.
  template <class Answer, class See>
  Answer look(WorkspaceId id, Answer nothing, See see) const {
    const ReaderLock lock(mutex_);
    const auto found = values_.find(id);
    return found == values_.end() ? nothing : see(found->second);
  }

  std::uint64_t generation_of(WorkspaceId id) const {
    const ReaderLock lock(mutex_);
    return generations_[slot_of(id)];
  }
  // Calls `change(Value&)`, unless the workspace was forgotten since that generation.
  template <class Change>
  void keep(WorkspaceId id, std::uint64_t generation, Change change) {
    const WriterLock lock(mutex_);
    if (generations_[slot_of(id)] != generation) return;
    if (values_.size() >= kMost) values_.clear();
    change(values_[id]);
  }

  // Forgets the values of these workspaces.
  template <class Ids>
  void forget(const Ids& ids) {
    if (ids.empty()) return;
    const WriterLock lock(mutex_);
    for (const WorkspaceId& id : ids) {
      ++generations_[slot_of(id)];
      values_.erase(id);
    }
  }
  void forget_everything() {
    const WriterLock lock(mutex_);
    for (auto& generation : generations_) ++generation;
    values_.clear();
  }

  // Some megabytes.
  static constexpr std::size_t kMost = 16'384;

 private:
  static constexpr std::size_t kGenerations = 1024;
  // Workspaces that share a slot invalidate each other's running reads, nothing more.
  static std::size_t slot_of(WorkspaceId id) { return std::hash<WorkspaceId>()(id) % kGenerations; }

  mutable SharedMutex mutex_;
  std::unordered_map<WorkspaceId, Value> values_ RESTANTE_GUARDED_BY(mutex_);
  std::array<std::uint64_t, kGenerations> generations_ RESTANTE_GUARDED_BY(mutex_){};
};

}  // namespace restante::postgres
