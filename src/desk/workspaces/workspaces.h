// Workspaces creates workspaces with their enrolment, registers agents and takes their heartbeats. Thread-safe.
#pragma once
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "desk/events/event_bus.h"
#include "desk/workspaces/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

// An agent without a sign of life for longer than this is offline: three missed heartbeats.
inline constexpr auto kOfflineAfter = std::chrono::seconds(90);

// The token in the line to paste; shown once.
struct Enrolment {
  std::string token;
  Time expires_at;
};

struct Registration {
  std::optional<WorkspaceId> id;  // absent: the workspace of the token
  std::string name;               // of a workspace that this registration creates
  std::string agent_card;
  std::string url;
  std::optional<DeliveryMode> delivery_mode;
};

// A registration that was checked as far as that is possible before the store's transaction.
struct PreparedRegistration {
  CheckedRegistration checked;
  Delivery delivery;       // how the agent will get its messages, unless the workspace is changed meanwhile
  std::string auth_token;  // the secret of checked.token; empty: none
};

struct Registered {
  Workspace workspace;
  std::string auth_token;      // empty when the agent has one already
  std::string inbound_secret;  // encrypted, for InboundSecrets::open(); empty: none
};

class Workspaces {
 public:
  Workspaces(Store& store, Presence& presence, EventBus& event_bus, const Clock& clock, Log& log)
      : store_(store), presence_(presence), event_bus_(event_bus), clock_(clock), log_(log) {}

  // Adds an enrolment to a workspace that is about to be created. Both are created together.
  Enrolment enrol(NewWorkspace& wanted) const;
  Commit<Result<Workspace>> create(const NewWorkspace& wanted, OptionalClaim<Workspace> claim = {});
  // The caller has the workspace's token, an enrolment token (which is used up), or the operator's token. Where
  // registration is open, an anonymous caller may register an id without live tokens. Returns a new auth_token for an
  // enrolment, or when the workspace has no live one. An id that does not exist is created for admin, for an enrolment
  // that is not bound to another workspace, and for an anonymous caller.
  Result<Registered> register_agent(const Principal& caller, const Registration& registration);
  // The same in two steps, for a caller that checks the url and adds an inbound secret in between. The second step is
  // one transaction, and nothing after it can fail: a registration that is not answered with success has used nothing
  // up.
  Result<PreparedRegistration> prepare(const Principal& caller, const Registration& registration);
  Result<Registered> register_agent(PreparedRegistration prepared);
  Commit<Result<void>> beat(WorkspaceId id, const Heartbeat& heartbeat);
  // Found and not removed, with the status as of now: offline after 90 s without a sign of life; online at once after a
  // poll.
  Result<Workspace> find(WorkspaceId id);
  std::vector<Workspace> list(const WorkspacePage& page = {});
  PollStatus poll_status(const Workspace& workspace) { return presence_.poll_status(workspace); }
  Result<Workspace> patch(WorkspaceId id, const WorkspacePatch& patch);
  // Returns the tokens that were revoked with it.
  Result<std::vector<TokenId>> remove(WorkspaceId id);
  // Sets agents without a sign of life for 90 s to offline in the store, so that it is known since when.
  void set_unseen_agents_offline();

 private:
  bool may_register(const Principal& caller, WorkspaceId id);
  void bring_up_to_date(Workspace& workspace);

  Store& store_;
  Presence& presence_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
};

// The status with the last sign of life taken into account.
WorkspaceStatus status_now(const Workspace& workspace, Time now);

}  // namespace restante::desk
