// DelegationStore: the tasks that agents give each other.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/delegation.h"
#include "model/delegation_rules.h"
#include "model/idempotency.h"
#include "store/uploads.h"

namespace restante {

// A new delegation, or the one that was there already (a hit). A hit changes nothing.
struct OpenedDelegation {
  Delegation delegation;
  bool hit = false;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

// A delegation after a report, and the rows and files that the report added.
struct DelegationChange {
  DelegationOutcome outcome = DelegationOutcome::repeated;
  Delegation delegation;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

struct SweptDelegations {
  std::vector<DelegationChange> changes;
  bool more = false;  // the limit was reached: more delegations may be due
};

class DelegationStore {
 public:
  virtual ~DelegationStore() = default;

  // Adds the row, stages the files and appends the task to the inbox of the receiving agent (unless it is recorded or
  // its callback is called first), and appends a note to the caller's inbox. An id of the same caller, or an
  // idempotency key that it still holds, is a hit and changes nothing. A file that was sent before may be sent again as
  // long as its blob is stored. bad_field when caller and receiving agent are the same; delegation_id_taken;
  // delegation_not_found for a parent that is not a task of the caller, or a retried task that it did not give;
  // delegation_ended when the parent has ended, delegation_in_flight when the retried task has not;
  // delegation_too_deep, delegation_cycle, too_many_delegations; attachment_gone, quota_exceeded; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<OpenedDelegation>> open_delegation(const NewDelegation& wanted, Time now,
                                                           OptionalClaim<OpenedDelegation> claim = {}) = 0;
  // One step, made by the receiving agent, by the caller (if it recorded the task, or to cancel it) or by the server. A
  // step that ends the task appends a row to the caller's inbox in the same transaction, after the files of the report.
  // A late answer is kept and appended in the same way, once. delegation_not_found when absent, or when `who` is not
  // the actor's workspace (`who` is ignored for the server); attachment_gone, quota_exceeded.
  virtual Commit<Result<DelegationChange>> advance_delegation(WorkspaceId who, const std::string& id,
                                                              DelegationReport report, Time now) = 0;
  // A heartbeat of the receiving agent. delegation_not_found.
  virtual Commit<Result<DelegationChange>> beat_delegation(WorkspaceId callee, const std::string& id,
                                                           std::optional<std::string> progress, Time now) = 0;
  // Appends a task whose callback could not take it to the inbox of the receiving agent, if it is queued and not there.
  virtual Commit<Result<DelegationChange>> deliver_delegation(const std::string& id, Time now) = 0;
  // Tasks of these receiving agents whose inbox rows have been acked go from queued to dispatched.
  virtual Commit<Result<std::vector<DelegationChange>>> pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                            Time now) = 0;
  // One bounded step. A task past its deadline becomes failed. A task that was picked up and has no heartbeat since
  // `silent_since` becomes stuck; if it never had one, only when the receiving agent has shown no sign of life since
  // then either. A task for a callback that was created before `undelivered_since` and is in no inbox is appended to
  // the inbox. At most `limit` together.
  virtual Commit<Result<SweptDelegations>> sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                             Time now) = 0;
  // Of any workspace. delegation_not_found.
  virtual Result<Delegation> find_delegation(const std::string& id) = 0;
  virtual Result<DelegationRecord> read_delegation(const std::string& id) = 0;
  // Newest first. Of all workspaces: running tasks by their deadline, ended ones by their end, latest first.
  virtual std::vector<Delegation> list_delegations(const DelegationFilter& filter) = 0;
  // The receiving agents that have acked the inbox row of a task that is still queued.
  virtual std::vector<WorkspaceId> callees_with_acked_tasks() = 0;
  // Reads stored counts, does not count rows. Costs the same whatever the number of receiving agents.
  virtual DelegationStats delegation_stats() = 0;
  // For each of `of`, in the same order, what it waits for if it has not ended. Needs one query for each receiving
  // agent, not for each task.
  virtual std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) = 0;
};

}  // namespace restante
