#include "desk/workspaces.h"

#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr auto kEnrolmentLifetime = std::chrono::hours(24);
constexpr auto kSilence = std::chrono::seconds(90);  // three missed heartbeats

}  // namespace

WorkspaceStatus status_now(const Workspace& workspace, Time now) {
  if (workspace.status != WorkspaceStatus::online && workspace.status != WorkspaceStatus::degraded) {
    return workspace.status;
  }
  const Time seen = std::max(workspace.last_heartbeat_at.value_or(Time()), workspace.last_poll_at.value_or(Time()));
  return now - seen > kSilence ? WorkspaceStatus::offline : workspace.status;
}

std::string topic_of(WorkspaceId id) { return "workspace:" + id.text(); }

Result<CreatedWorkspace> Workspaces::create(const NewWorkspace& wanted) {
  const Time now = clock_.now();
  auto workspace = store_.create_workspace(wanted, now).take();
  if (!workspace) return workspace.error();
  FreshToken fresh = make_token();
  const Time expires = now + kEnrolmentLifetime;
  const auto token =
      store_.add_token({TokenKind::enrolment, workspace->id, fresh.hash, fresh.prefix, "enrolment", expires}, now)
          .take();
  if (!token) return token.error();
  log_.info("workspace_created",
            {{"workspace_id", workspace->id.text()}, {"delivery_mode", name_of(workspace->delivery_mode)}});
  return CreatedWorkspace{std::move(*workspace), std::move(fresh.secret), expires};
}

Result<std::string> Workspaces::fresh_token(const Principal& caller, WorkspaceId id) {
  const Time now = clock_.now();
  const bool enrolling = caller.role == Principal::Role::enrolment;
  if (!enrolling && store_.has_live_token(id, now)) return std::string();
  FreshToken fresh = make_token();
  const NewToken token{TokenKind::workspace, id, fresh.hash, fresh.prefix, "registered", {}};
  const auto added =
      enrolling ? store_.redeem_enrolment(*caller.token_id, token, now).take() : store_.add_token(token, now).take();
  if (!added) return added.error();
  return std::move(fresh.secret);
}

Result<Registered> Workspaces::enter(const Principal& caller, const Registration& registration) {
  const auto id = registration.id ? registration.id : caller.workspace_id;
  if (!id) return Error(errors::bad_field, {{"field", std::string("id")}});
  if (!caller.is_admin() && caller.workspace_id != id) return errors::invalid_token;
  const auto known = find(*id);
  if (!known) return known.error();
  const DeliveryMode mode =
      registration.delivery_mode.value_or(registration.url.empty() ? DeliveryMode::poll : DeliveryMode::push);
  if (mode == DeliveryMode::push && registration.url.empty()) {
    return Error(errors::bad_field, {{"field", std::string("url")}})
        .say("delivery_mode push needs a url; agents without one register with delivery_mode poll");
  }
  auto secret = fresh_token(caller, *id);
  if (!secret) return secret.error();
  auto workspace = store_.register_workspace(*id, mode, registration.url, registration.agent_card, clock_.now()).take();
  if (!workspace) return workspace.error();
  log_.info("workspace_registered", {{"workspace_id", id->text()}, {"delivery_mode", name_of(mode)}});
  bell_.ring(topic_of(*id));
  return Registered{std::move(*workspace), std::move(*secret)};
}

Commit<Result<void>> Workspaces::beat(WorkspaceId id, const Heartbeat& heartbeat) {
  return store_.beat_workspace(id, heartbeat, clock_.now());
}

Result<Workspace> Workspaces::find(WorkspaceId id) {
  auto workspace = store_.find_workspace(id);
  if (!workspace) return workspace;
  if (workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  workspace->status = status_now(*workspace, clock_.now());
  return workspace;
}

std::vector<Workspace> Workspaces::list() {
  auto all = store_.list_workspaces();
  const Time now = clock_.now();
  for (Workspace& workspace : all) workspace.status = status_now(workspace, now);
  return all;
}

Result<std::string> Workspaces::add_token(WorkspaceId id, std::string label) {
  const auto known = find(id);
  if (!known) return known.error();
  FreshToken fresh = make_token();
  const auto added =
      store_.add_token({TokenKind::workspace, id, fresh.hash, fresh.prefix, std::move(label), {}}, clock_.now()).take();
  if (!added) return added.error();
  return std::move(fresh.secret);
}

}  // namespace restante::desk
