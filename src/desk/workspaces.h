// Workspaces: creating them with a line to paste, agents registering and beating. Thread-safe.
#pragma once
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "desk/event_bus.h"
#include "desk/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

// Without any sign of life for longer than this, an agent is offline: three missed heartbeats.
inline constexpr auto kOfflineAfter = std::chrono::seconds(90);

// What the line to paste carries; shown once.
struct Enrolment {
  std::string token;
  Time expires_at;
};

struct Registration {
  std::optional<WorkspaceId> id;  // absent: the token's own
  std::string name;               // of a workspace that is created by registering
  std::string agent_card;
  std::string url;
  std::optional<DeliveryMode> delivery_mode;
};

struct Registered {
  Workspace workspace;
  std::string auth_token;  // empty when the agent has one already
};

class Workspaces {
 public:
  Workspaces(Store& store, Presence& presence, EventBus& event_bus, const Clock& clock, Log& log)
      : store_(store), presence_(presence), event_bus_(event_bus), clock_(clock), log_(log) {}

  // Gives what is about to be created an enrolment, which then comes with it.
  Enrolment enrol(NewWorkspace& wanted) const;
  Commit<Result<Workspace>> create(const NewWorkspace& wanted);
  Commit<Result<Claimed<Workspace>>> create_once(const NewWorkspace& wanted, const Claim& claim,
                                                 Render<Workspace> render);
  // With the workspace's own token, an enrolment token (used up by it), as admin, or, where registration is open,
  // anonymously for an id without live tokens. A fresh auth_token for an enrolment, or when the workspace has no live
  // one. An id nobody created is created by admin, by an enrolment that is not bound to another, and anonymously.
  Result<Registered> register_agent(const Principal& caller, const Registration& registration);
  Commit<Result<void>> beat(WorkspaceId id, const Heartbeat& heartbeat);
  // Found and not removed, with the status as of now: no sign of life for 90 s is offline, a poll is one at once.
  Result<Workspace> find(WorkspaceId id);
  // How one that is found and not removed is reached.
  Result<DeliveryMode> delivery(WorkspaceId id) { return store_.find_delivery(id); }
  std::vector<Workspace> list();
  PollStatus poll_status(const Workspace& workspace) { return presence_.poll_status(workspace); }
  Result<Workspace> patch(WorkspaceId id, const WorkspacePatch& patch);
  // Gives the tokens that went with it.
  Result<std::vector<TokenId>> remove(WorkspaceId id);
  // Those that have been silent for 90 s are written down as offline, so that it is known since when.
  void settle_statuses();

 private:
  bool may_register(const Principal& caller, WorkspaceId id);
  // By what right it comes, as far as can be said before the store's turn.
  Result<CheckedRegistration> checked_registration(const Principal& caller, const Registration& registration);
  void bring_up_to_date(Workspace& workspace);

  Store& store_;
  Presence& presence_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
};

// What the status is once the last sign of life is taken into account.
WorkspaceStatus status_now(const Workspace& workspace, Time now);
// The topic that rings when something is appended to this workspace's log.
std::string topic_of(WorkspaceId id);

}  // namespace restante::desk
