// Rows of delegations as both backends select them; see row_columns.h. Pure functions, except that a status which this
// binary does not know throws Unavailable.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/delegation.h"
#include "store/sql/row.h"

namespace restante {

inline const std::string kDelegationColumns =
    "delegation_id, caller_id, callee_id, task_preview, status, last_heartbeat, deadline, result_preview, "
    "error_detail, retry_count, idempotency_key, created_at, updated_at, recorded, inbox_seq, progress, progress_at, "
    "finished_at, retry_of, parent_id, depth, late_at";
inline const std::string kSelectDelegations = "SELECT " + kDelegationColumns + " FROM delegations ";
inline constexpr std::string_view kInFlight = "status IN ('queued', 'dispatched', 'in_progress')";
inline constexpr std::string_view kEnded = "status IN ('completed', 'failed', 'stuck')";

inline DelegationStatus delegation_status_of(std::string_view text) {
  const auto status = parse_delegation_status(text);
  if (!status) throw Unavailable("a delegation has a status this binary does not know");
  return *status;
}

inline Delegation delegation_of(const SqlRow& row) {
  Delegation one;
  int at = 0;
  one.id = row.text(at++);
  one.caller_id = row.id<WorkspaceId>(at++);
  one.callee_id = row.id<WorkspaceId>(at++);
  one.task_preview = row.text(at++);
  one.status = delegation_status_of(row.view(at++));
  one.last_heartbeat = row.optional_time(at++);
  one.deadline = row.time(at++);
  one.result_preview = row.text(at++);
  one.error_detail = row.text(at++);
  one.retry_count = row.integer(at++);
  one.idempotency_key = row.text(at++);
  one.created_at = row.time(at++);
  one.updated_at = row.time(at++);
  one.recorded = row.integer(at++) != 0;
  one.inbox_seq = row.optional_integer(at++);
  one.progress = row.text(at++);
  one.progress_at = row.optional_time(at++);
  one.finished_at = row.optional_time(at++);
  one.retry_of = row.text(at++);
  one.parent_id = row.text(at++);
  one.depth = row.integer(at++);
  one.late_at = row.optional_time(at++);
  return one;
}

// at, status, made_by, late, note
inline DelegationStep delegation_step_of(const SqlRow& row) {
  const auto by = parse_delegation_actor(row.view(2));
  return {row.time(0), delegation_status_of(row.view(1)), by.value_or(DelegationActor::platform), row.integer(3) != 0,
          row.text(4)};
}

// The delegation, its parent, and so on, as far as find() returns a row. An ancestor has a smaller depth; an id that
// was used again is none.
template <class Find>
std::vector<Delegation> chain_from(Delegation first, Find find) {
  std::vector<Delegation> chain{std::move(first)};
  while (!chain.back().parent_id.empty()) {
    auto above = find(chain.back().parent_id);
    if (!above || above->depth >= chain.back().depth) break;
    chain.push_back(std::move(*above));
  }
  return chain;
}

// The query for a filter. Its parameters are the limit, then the workspace and the peer if the filter has them.
// `placeholder` begins a parameter in the backend's SQL: '?' or '$'.
std::string select_delegations(const DelegationFilter& filter, char placeholder);
// Conditions for delegations past their deadline, and for those that were picked up and whose last heartbeat is older
// than a moment. Their parameters are the moment and the limit.
std::string overdue_condition(char placeholder);
std::string silent_condition(char placeholder);
// The running tasks of one receiving agent, oldest first.
class CalleeQueue {
 public:
  void add(Time created_at, std::string id) { tasks_.emplace_back(created_at, std::move(id)); }
  std::int64_t ahead_of(const Delegation& task) const;

 private:
  std::vector<std::pair<Time, std::string>> tasks_;
};
// The files of a task that were staged for its receiving agent. `files` is the JSON list that is stored with the task.
std::vector<FileId> staged_files(const std::string& files, WorkspaceId callee);

// Merges the sent and the received delegations of a workspace, each list newest first.
std::vector<Delegation> merge_newest(std::vector<Delegation> sent, std::vector<Delegation> received, int limit);

}  // namespace restante
