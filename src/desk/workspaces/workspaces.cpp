#include "desk/workspaces/workspaces.h"

#include "desk/principals/tokens.h"
#include "model/errors.h"
#include "model/workspace_rules.h"

namespace restante::desk {
namespace {

void log_created(Log& log, const Workspace& workspace) {
  log.info("workspace_created",
           {{"workspace_id", workspace.id.text()}, {"delivery_mode", name_of(workspace.delivery_mode)}});
}

}  // namespace

WorkspaceStatus status_now(const Workspace& workspace, Time now) {
  if (workspace.status != WorkspaceStatus::online && workspace.status != WorkspaceStatus::degraded) {
    return workspace.status;
  }
  const Time seen = std::max(workspace.last_heartbeat_at.value_or(Time()), workspace.last_poll_at.value_or(Time()));
  return now - seen > kOfflineAfter ? WorkspaceStatus::offline : workspace.status;
}

Enrolment Workspaces::enrol(NewWorkspace& wanted) const {
  FreshToken fresh = make_token();
  const Time expires = clock_.now() + kEnrolmentLifetime;
  wanted.enrolment = NewToken{TokenKind::enrolment, {}, fresh.hash, fresh.prefix, "enrolment", expires};
  return {std::move(fresh.secret), expires};
}

Commit<Result<Workspace>> Workspaces::create(const NewWorkspace& wanted, OptionalClaim<Workspace> claim) {
  auto commit = store_.create_workspace(wanted, clock_.now(), std::move(claim));
  commit.then([&log = log_](const Result<Workspace>& created) {
    if (created) log_created(log, *created);
  });
  return commit;
}

// A sender's token names the same workspace, but a sender is a person: by registering it would get an agent's token.
bool Workspaces::may_register(const Principal& caller, WorkspaceId id) {
  switch (caller.role) {
    case Principal::Role::admin:
      return true;
    case Principal::Role::workspace:
    case Principal::Role::enrolment:
      return caller.workspace_id == id;
    case Principal::Role::anonymous:
      return !store_.has_live_token(id, clock_.now());
    case Principal::Role::sender:
      return false;
  }
  return false;
}

Result<PreparedRegistration> Workspaces::prepare(const Principal& caller, const Registration& registration) {
  using Role = Principal::Role;
  const auto id = registration.id ? registration.id : caller.workspace_id;
  const bool unbound = caller.role == Role::enrolment && !caller.workspace_id;
  const auto known = id ? store_.find_workspace(*id) : Result<Workspace>(errors::workspace_not_found);
  CheckedRegistration checked;
  if (known) {
    if (!may_register(caller, *id)) return errors::invalid_token;
  } else {
    if (!id && !unbound) return Error(errors::bad_field, {{"field", std::string("id")}}).with_sentence("id is missing");
    if (!unbound && caller.role != Role::admin && caller.role != Role::anonymous) return errors::invalid_token;
    checked.create_as = registration.name.empty() ? "agent" : registration.name;
  }
  checked.id = id ? *id : WorkspaceId::make(clock_.now());
  checked.delivery_mode = registration.delivery_mode;
  checked.url = registration.url;
  checked.agent_card = registration.agent_card;
  if (caller.role == Role::enrolment) checked.enrolment = caller.token_id;
  checked.first_only = caller.role == Role::anonymous;
  auto delivery = delivery_after(checked, known ? &*known : nullptr);
  if (!delivery) return delivery.error();
  PreparedRegistration prepared{std::move(checked), std::move(*delivery), {}};
  // A caller with the workspace's own token needs no new one.
  if (caller.role != Role::workspace) {
    FreshToken fresh = make_token();
    prepared.checked.token = NewToken{TokenKind::workspace, {}, fresh.hash, fresh.prefix, "registered", {}};
    prepared.auth_token = std::move(fresh.secret);
  }
  return prepared;
}

Result<Registered> Workspaces::register_agent(const Principal& caller, const Registration& registration) {
  auto prepared = prepare(caller, registration);
  if (!prepared) return prepared.error();
  return register_agent(std::move(*prepared));
}

Result<Registered> Workspaces::register_agent(PreparedRegistration prepared) {
  presence_.prepare(prepared.checked.id);
  auto registered = store_.register_agent(prepared.checked, clock_.now()).take();
  if (!registered) return registered.error();
  const WorkspaceId id = registered->workspace.id;
  log_.info("workspace_registered",
            {{"workspace_id", id.text()}, {"delivery_mode", name_of(registered->workspace.delivery_mode)}});
  const auto& secret = prepared.checked.inbound_secret;
  if (secret && secret->sealed == registered->inbound_secret) {
    log_.info("inbound_secret_made", {{"workspace_id", id.text()}});
  }
  presence_.seen(id);
  event_bus_.changed(id);
  return Registered{std::move(registered->workspace),
                    registered->token ? std::move(prepared.auth_token) : std::string(),
                    std::move(registered->inbound_secret)};
}

Commit<Result<void>> Workspaces::beat(WorkspaceId id, const Heartbeat& heartbeat) {
  presence_.prepare(id);
  const Time now = clock_.now();
  auto commit = store_.record_heartbeat(id, heartbeat, now);
  commit.then([this, id, now](const Result<void>& beaten) {
    if (!beaten) return;
    presence_.seen(id);
    // Without the task that it works on: not every subscriber may see that.
    event_bus_.publish(id, "WORKSPACE_HEARTBEAT", R"({"last_heartbeat_at":")" + format_time(now) + "\"}");
  });
  return commit;
}

void Workspaces::bring_up_to_date(Workspace& workspace) {
  const PollStatus poll_state = presence_.poll_status(workspace);
  workspace.last_poll_at = poll_state.last_poll_at;
  workspace.usual_poll_gap = poll_state.usual_gap;
  const Time now = clock_.now();
  // Polls are written to the store some seconds later.
  const bool polls =
      poll_state.listening || (poll_state.last_poll_at && now - *poll_state.last_poll_at <= kOfflineAfter);
  const bool down = workspace.status == WorkspaceStatus::awaiting_agent || workspace.status == WorkspaceStatus::offline;
  if (polls && down) workspace.status = WorkspaceStatus::online;
  if (!poll_state.listening) workspace.status = status_now(workspace, now);
}

Result<Workspace> Workspaces::find(WorkspaceId id) {
  auto workspace = store_.find_workspace(id);
  if (!workspace) return workspace;
  if (workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  bring_up_to_date(*workspace);
  return workspace;
}

std::vector<Workspace> Workspaces::list(const WorkspacePage& page) {
  auto all = store_.list_workspaces(page);
  for (Workspace& workspace : all) bring_up_to_date(workspace);
  return all;
}

Result<Workspace> Workspaces::patch(WorkspaceId id, const WorkspacePatch& patch) {
  auto patched = store_.patch_workspace(id, patch, clock_.now()).take();
  if (patched) event_bus_.changed(id);
  return patched;
}

Result<std::vector<TokenId>> Workspaces::remove(WorkspaceId id) {
  auto tokens = store_.remove_workspace(id, clock_.now()).take();
  if (!tokens) return tokens;
  log_.info("workspace_removed", {{"workspace_id", id.text()}});
  presence_.forget(id);
  event_bus_.changed(id);
  return tokens;
}

void Workspaces::set_unseen_agents_offline() {
  const Time now = clock_.now();
  const auto changes = store_.set_unseen_agents_offline(now - kOfflineAfter, now).take();
  if (!changes) return;
  for (const StatusChange& change : *changes) {
    presence_.went_offline(change.id);
    event_bus_.changed(change.id);
  }
}

}  // namespace restante::desk
