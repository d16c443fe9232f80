// Delegations: tasks between agents, most of which can only poll. A task waits in its callee's inbox until that agent
// picks it up, however long it is offline; its caller is told how it ended exactly once, in its inbox. Who says what of
// which task is decided here; what follows from it is the store's. Thread-safe. Throws Unavailable.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "base/clock.h"
#include "base/json.h"
#include "desk/delegation_events.h"
#include "desk/presence.h"
#include "desk/task_files.h"
#include "desk/uploads.h"
#include "store/store.h"

namespace restante::desk {

struct DelegationRules {
  std::chrono::seconds deadline{6 * 3'600};
  std::chrono::seconds longest_deadline{30 * 86'400};
  DelegationLimits limits{};
};

// What a caller asks for, as it was sent. With retry_of, what is left out is as it was with the old one.
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
  // By complete_retry().
  std::optional<Time::duration> time{};           // how long there is for it
  std::optional<DelegationRecord> sent_before{};  // whose files go along again
};

// What is said beside the row: the callee's last sign of life, and why the task waits.
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

  // What a retry leaves out: whom it is for, what is to be done, how long there is for it, and its files.
  // delegation_not_found.
  Result<void> complete_retry(TaskRequest& order);
  // bad_field for what no task can be, attachment_gone for a file of anybody else.
  Result<NewDelegation> prepare(TaskRequest order) const;
  // As the store has it.
  Commit<Result<OpenedDelegation>> open(const NewDelegation& wanted);
  Commit<Result<Claimed<OpenedDelegation>>> open_once(const NewDelegation& wanted, const Claim& claim,
                                                      Render<OpenedDelegation> render);
  // Its callback could not take it: into the inbox.
  Commit<Result<DelegationChange>> deliver(const std::string& id);

  // By its callee, or by the caller of a recorded one. `attachments` are A2A file parts. delegation_not_found.
  Commit<Result<DelegationChange>> report(WorkspaceId who, const std::string& id, DelegationReport report,
                                          Json::Array attachments);
  Commit<Result<DelegationChange>> beat(WorkspaceId callee, const std::string& id, std::optional<std::string> progress);
  Commit<Result<DelegationChange>> cancel(WorkspaceId caller, const std::string& id);

  // For one of the two it is between; for the operator, whoever's it is. delegation_not_found.
  Result<DelegationRecord> read(WorkspaceId who, const std::string& id);
  Result<DelegationRecord> read(const std::string& id) { return store_.read_delegation(id); }
  std::vector<Delegation> list(const DelegationFilter& filter) { return store_.list_delegations(filter); }
  DelegationStats stats() { return store_.delegation_stats(); }
  // Of rows of one list, in their order: each callee is looked up once, and what they wait for together.
  std::vector<DelegationView> look(std::span<const Delegation> delegations);

  // Something of these workspaces' inboxes was acked: tasks in them count as picked up, soon.
  void mark_acked(WorkspaceId workspace);
  void mark_all_acked();
  // Works off what was noted.
  void pick_up();
  DelegationEvents& events() { return events_; }

 private:
  Result<TaskFiles> task_files_of(TaskRequest& order, Time now) const;
  DelegationView look(const Delegation& delegation, const Workspace& callee, DelegationWait wait);

  Store& store_;
  Uploads& uploads_;
  Presence& presence_;
  const Clock& clock_;
  const DelegationRules rules_;
  DelegationEvents events_;
  std::mutex mutex_;  // acks come on all pool threads
  std::set<WorkspaceId> acked_;
};

}  // namespace restante::desk
