#include "store/sqlite/embedded_store.h"

#include "model/errors.h"

namespace restante::sqlite {
namespace {

const std::string kSelect =
    "SELECT id, name, role, parent_id, delivery_mode, url, agent_card, status, last_heartbeat_at, last_poll_at, "
    "current_task, active_tasks, uptime_seconds, last_error_rate, created_at, updated_at FROM workspaces ";
const std::string kFind = kSelect + "WHERE id = ?";

WorkspaceStatus status_of(std::string_view text) {
  const auto status = parse_workspace_status(text);
  if (!status) throw Unavailable("a workspace has a status this binary does not know");
  return *status;
}

Workspace workspace_of(const Statement& row) {
  Workspace workspace;
  workspace.id = row.id<WorkspaceId>(0);
  workspace.name = row.text(1);
  workspace.role = row.text(2);
  workspace.parent_id = row.optional_id<WorkspaceId>(3);
  workspace.delivery_mode = parse_delivery_mode(row.view(4)).value_or(DeliveryMode::push);
  workspace.url = row.text(5);
  workspace.agent_card = row.text(6);
  workspace.status = status_of(row.view(7));
  workspace.last_heartbeat_at = row.optional_time(8);
  workspace.last_poll_at = row.optional_time(9);
  workspace.current_task = row.text(10);
  workspace.active_tasks = row.integer(11);
  workspace.uptime_seconds = row.integer(12);
  workspace.last_error_rate = row.real(13);
  workspace.created_at = row.time(14);
  workspace.updated_at = row.time(15);
  return workspace;
}

Result<Workspace> find(Database& database, WorkspaceId id) {
  Statement row = database.query(kFind, id);
  if (!row.step()) return errors::workspace_not_found;
  return workspace_of(row);
}

Result<Workspace> find_living(Database& database, WorkspaceId id) {
  auto workspace = find(database, id);
  if (workspace && workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  return workspace;
}

// A sign of life brings it online, but does not say that its errors are over.
WorkspaceStatus seen(WorkspaceStatus status) {
  return status == WorkspaceStatus::degraded ? status : WorkspaceStatus::online;
}

WorkspaceStatus after_beat(WorkspaceStatus status, std::optional<double> error_rate) {
  if (error_rate && *error_rate >= 0.5) return WorkspaceStatus::degraded;
  if (error_rate && *error_rate < 0.1) return WorkspaceStatus::online;
  return seen(status);
}

void insert(Database& database, const Workspace& workspace) {
  database.run(
      "INSERT INTO workspaces (id, name, role, parent_id, delivery_mode, url, status, created_at, updated_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      workspace.id, workspace.name, workspace.role, workspace.parent_id, name_of(workspace.delivery_mode),
      workspace.url, name_of(workspace.status), workspace.created_at, workspace.updated_at);
  database.run("INSERT INTO inbox_heads (workspace_id) VALUES (?)", workspace.id);
}

}  // namespace

Commit<Result<Workspace>> EmbeddedStore::create_workspace(const NewWorkspace& workspace, Time now) {
  Workspace made;
  made.id = workspace.id ? *workspace.id : WorkspaceId::make(now);
  made.name = workspace.name;
  made.role = workspace.role;
  made.parent_id = workspace.parent_id;
  made.delivery_mode = workspace.delivery_mode;
  made.url = workspace.url;
  made.created_at = made.updated_at = now;
  return writer_.submit(sizeof made, [made](Database& database) -> Result<Workspace> {
    if (find(database, made.id)) return errors::workspace_exists;
    insert(database, made);
    return made;
  });
}

Result<Workspace> EmbeddedStore::find_workspace(WorkspaceId id) { return find(*readers_.take(), id); }

std::vector<Workspace> EmbeddedStore::list_workspaces() {
  auto reader = readers_.take();
  Statement row = reader->query(kSelect + "WHERE status <> 'removed' ORDER BY created_at, id");
  std::vector<Workspace> all;
  while (row.step()) all.push_back(workspace_of(row));
  return all;
}

Commit<Result<Workspace>> EmbeddedStore::register_workspace(WorkspaceId id, DeliveryMode mode, std::string url,
                                                            std::string agent_card, Time now) {
  const std::size_t bytes = url.size() + agent_card.size();
  return writer_.submit(
      bytes,
      [id, mode, url = std::move(url), card = std::move(agent_card), now](Database& database) -> Result<Workspace> {
        auto workspace = find_living(database, id);
        if (!workspace) return workspace;
        workspace->delivery_mode = mode;
        workspace->url = url;
        workspace->agent_card = card;
        workspace->status = seen(workspace->status);
        workspace->last_heartbeat_at = now;
        workspace->updated_at = now;
        database.run(
            "UPDATE workspaces SET delivery_mode = ?, url = ?, agent_card = ?, status = ?, last_heartbeat_at = ?, "
            "updated_at = ? WHERE id = ?",
            name_of(mode), url, or_null(card), name_of(workspace->status), now, now, id);
        return workspace;
      });
}

Commit<Result<void>> EmbeddedStore::beat_workspace(WorkspaceId id, const Heartbeat& heartbeat, Time now) {
  return writer_.submit(heartbeat.current_task.size(), [id, heartbeat, now](Database& database) -> Result<void> {
    const auto workspace = find_living(database, id);
    if (!workspace) return workspace.error();
    database.run(
        "UPDATE workspaces SET status = ?, last_heartbeat_at = ?, current_task = ?, active_tasks = ?, "
        "uptime_seconds = ?, last_error_rate = ?, updated_at = ? WHERE id = ?",
        name_of(after_beat(workspace->status, heartbeat.error_rate)), now, heartbeat.current_task,
        heartbeat.active_tasks, heartbeat.uptime_seconds, heartbeat.error_rate.value_or(workspace->last_error_rate),
        now, id);
    return {};
  });
}

Commit<Result<void>> EmbeddedStore::note_polls(std::span<const std::pair<WorkspaceId, Time>> polls) {
  if (polls.empty()) return Commit<Result<void>>::ready({});
  std::vector<std::pair<WorkspaceId, Time>> copy(polls.begin(), polls.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes, [polls = std::move(copy)](Database& database) -> Result<void> {
    // Written late and in any order, so an older poll must not undo a newer one.
    for (const auto& [id, at] : polls) {
      database.run(
          "UPDATE workspaces SET last_poll_at = max(coalesce(last_poll_at, 0), ?1), "
          "status = CASE status WHEN 'degraded' THEN status ELSE 'online' END WHERE id = ?2 AND status <> 'removed'",
          at, id);
    }
    return {};
  });
}

}  // namespace restante::sqlite
