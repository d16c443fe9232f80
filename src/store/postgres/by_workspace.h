// ByWorkspace: something remembered of each of many workspaces, until it is forgotten. What was read before a workspace
// was forgotten is not kept after it: who reads takes the workspace's turn first. When there are too many, all of them
// are forgotten; that costs a question each. Thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "model/ids.h"

namespace restante::postgres {

template <class Value>
class ByWorkspace {
 public:
  // What `see(const Value&)` makes of it; the given answer where there is nothing.
  template <class Answer, class See>
  Answer look(WorkspaceId id, Answer nothing, See see) const {
    const std::shared_lock lock(mutex_);
    const auto found = values_.find(id);
    return found == values_.end() ? nothing : see(found->second);
  }

  std::uint64_t turn_of(WorkspaceId id) const {
    const std::shared_lock lock(mutex_);
    return turns_[place_of(id)];
  }
  // `change(Value&)`, unless that turn is over.
  template <class Change>
  void keep(WorkspaceId id, std::uint64_t turn, Change change) {
    const std::unique_lock lock(mutex_);
    if (turns_[place_of(id)] != turn) return;
    if (values_.size() >= kMost) values_.clear();
    change(values_[id]);
  }

  // Of each of these.
  template <class Ids>
  void forget(const Ids& ids) {
    if (ids.empty()) return;
    const std::unique_lock lock(mutex_);
    for (const WorkspaceId& id : ids) {
      ++turns_[place_of(id)];
      values_.erase(id);
    }
  }
  void forget_everything() {
    const std::unique_lock lock(mutex_);
    for (auto& turn : turns_) ++turn;
    values_.clear();
  }

  // Some megabytes.
  static constexpr std::size_t kMost = 16'384;

 private:
  static constexpr std::size_t kTurns = 1024;
  // Those that share a turn forget each other's reads under way, nothing more.
  static std::size_t place_of(WorkspaceId id) { return std::hash<WorkspaceId>()(id) % kTurns; }

  mutable std::shared_mutex mutex_;
  std::unordered_map<WorkspaceId, Value> values_;
  std::array<std::uint64_t, kTurns> turns_{};
};

}  // namespace restante::postgres
