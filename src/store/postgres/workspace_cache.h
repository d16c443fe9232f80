// WorkspaceCache: something remembered of each of many workspaces, until it is forgotten. What was read before a
// workspace was forgotten is not kept after it: who reads takes the workspace's turn first. When there are too many,
// all of them are forgotten; that costs a question each. Thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "model/ids.h"

namespace restante::postgres {

template <class Value>
class WorkspaceCache {
 public:
  // What `see(const Value&)` makes of it; the given answer where there is nothing.
  template <class Answer, class See>
  Answer look(WorkspaceId id, Answer nothing, See see) const {
    const std::shared_lock lock(mutex_);
    const auto found = values_.find(id);
    return found == values_.end() ? nothing : see(found->second);
  }

  std::uint64_t generation_of(WorkspaceId id) const {
    const std::shared_lock lock(mutex_);
    return generations_[slot_of(id)];
  }
  // `change(Value&)`, unless that turn is over.
  template <class Change>
  void keep(WorkspaceId id, std::uint64_t generation, Change change) {
    const std::unique_lock lock(mutex_);
    if (generations_[slot_of(id)] != generation) return;
    if (values_.size() >= kMost) values_.clear();
    change(values_[id]);
  }

  // Of each of these.
  template <class Ids>
  void forget(const Ids& ids) {
    if (ids.empty()) return;
    const std::unique_lock lock(mutex_);
    for (const WorkspaceId& id : ids) {
      ++generations_[slot_of(id)];
      values_.erase(id);
    }
  }
  void forget_everything() {
    const std::unique_lock lock(mutex_);
    for (auto& generation : generations_) ++generation;
    values_.clear();
  }

  // Some megabytes.
  static constexpr std::size_t kMost = 16'384;

 private:
  static constexpr std::size_t kGenerations = 1024;
  // Those that share a turn forget each other's reads under way, nothing more.
  static std::size_t slot_of(WorkspaceId id) { return std::hash<WorkspaceId>()(id) % kGenerations; }

  mutable std::shared_mutex mutex_;
  std::unordered_map<WorkspaceId, Value> values_;
  std::array<std::uint64_t, kGenerations> generations_{};
};

}  // namespace restante::postgres
