// Delegations are tasks between agents, most of which can only poll. A task waits in the receiving agent's inbox until
// that agent picks it up, however long it is offline. The caller gets the result exactly once, in its inbox. This class
// decides which agent may report on which task; the store decides what a report changes. Thread-safe. Throws
// Unavailable.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <span>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "desk/delegations/delegation_events.h"
#include "desk/uploads/uploads.h"
#include "desk/workspaces/presence.h"
#include "store/store.h"

namespace restante::desk {

struct DelegationRules {
  std::chrono::seconds deadline{6 * 3'600};
  std::chrono::seconds longest_deadline{30 * 86'400};
  DelegationLimits limits{};
};

// A caller's request for a task, as it was sent. With retry_of, missing members are taken from the old task.
struct TaskRequest {
  WorkspaceId caller;
  std::optional<WorkspaceId> target{};
  std::string task{};
  std::string delegation_id{};  // made when empty
  std::string idempotency_key{};
  std::optional<Time> deadline{};
  std::optional<Json::Array> attachments{};  // A2A file parts; an empty list: none, also with retry_of
  std::string retry_of{};
  std::string parent_id{};
  std::string traceparent{};
  bool recorded = false;
  // Set by complete_retry().
  std::optional<Time::duration> time{};           // from creation to deadline
  std::optional<DelegationRecord> sent_before{};  // the task whose files are used again
};

// Facts that are not in the row: the receiving agent's last sign of life, and why the task waits.
struct DelegationView {
  std::optional<Time> agent_seen_at;
  std::string why;
};

class Delegations {
 public:
  Delegations(Store& store, Uploads& uploads, Presence& presence, EventBus& event_bus, const Clock& clock, Log& log,
              Metrics& metrics, DelegationRules rules)
      : store_(store),
        uploads_(uploads),
        presence_(presence),
        clock_(clock),
        rules_(rules),
        events_(event_bus, uploads.events(), log, metrics) {}

  // Fills in what a retry omits: receiving agent, task text, time until the deadline, and files. delegation_not_found.
  Result<void> complete_retry(TaskRequest& request);
  // bad_field for an invalid member, attachment_gone for a file that the caller may not use.
  Result<NewDelegation> prepare(TaskRequest request) const;
  // These have the outcomes of the store's verbs.
  Commit<Result<OpenedDelegation>> open(const NewDelegation& wanted, OptionalClaim<OpenedDelegation> claim = {});
  // Appends the task to the inbox, because the call to its callback failed.
  Commit<Result<DelegationChange>> deliver(const std::string& id);

  // `who` is the receiving agent, or the caller of a recorded task. `attachments` are A2A file parts.
  // delegation_not_found.
  Commit<Result<DelegationChange>> report(WorkspaceId who, const std::string& id, DelegationReport report,
                                          Json::Array attachments);
  Commit<Result<DelegationChange>> beat(WorkspaceId callee, const std::string& id, std::optional<std::string> progress);
  Commit<Result<DelegationChange>> cancel(WorkspaceId caller, const std::string& id);

  // For the caller or the receiving agent; without `who`, any task, for the operator. delegation_not_found.
  Result<DelegationRecord> read(WorkspaceId who, const std::string& id);
  Result<DelegationRecord> read(const std::string& id) { return store_.read_delegation(id); }
  std::vector<Delegation> list(const DelegationFilter& filter) { return store_.list_delegations(filter); }
  DelegationStats stats() { return store_.delegation_stats(); }
  // The views of one list's rows, in their order. Each receiving agent is looked up once, and the waits in one query.
  std::vector<DelegationView> look(std::span<const Delegation> delegations);

  // A row of these inboxes was acked. The next pick_up() marks the tasks in them as picked up.
  void mark_acked(WorkspaceId workspace);
  // The same for all inboxes, as the store knows them.
  void mark_all_acked();
  // Marks the tasks of the acked inboxes as picked up.
  void pick_up();
  DelegationEvents& events() { return events_; }

 private:
  // Reports the change once it is durable.
  Commit<Result<DelegationChange>> reported(Commit<Result<DelegationChange>> commit);
  DelegationView look(const Delegation& delegation, const Workspace& callee, DelegationWait wait);

  Store& store_;
  Uploads& uploads_;
  Presence& presence_;
  const Clock& clock_;
  const DelegationRules rules_;
  DelegationEvents events_;
  Mutex mutex_;  // acks come from all pool threads
  std::set<WorkspaceId> acked_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::desk
