#include <algorithm>

#include "model/errors.h"
#include "model/workspace_rules.h"
#include "store/row_columns.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/workspaces/claims.h"
#include "store/sqlite/workspaces/tokens.h"

namespace restante::sqlite {
namespace {

const std::string kSelect = "SELECT " + kWorkspaceColumns + " FROM workspaces ";
const std::string kFind = kSelect + "WHERE id = ?";

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

// Polls are written late and in any order, so an older poll or cursor must not replace a newer one.
void record_poll(Database& database, const PollRecord& poll) {
  std::optional<std::int64_t> gap;
  if (poll.usual_gap) gap = poll.usual_gap->count();
  database.run(
      "UPDATE workspaces SET last_poll_at = max(coalesce(last_poll_at, 0), ?1), usual_poll_gap = coalesce(?2, "
      "usual_poll_gap), status = CASE status WHEN 'degraded' THEN status ELSE 'online' END "
      "WHERE id = ?3 AND status <> 'removed'",
      poll.at, gap, poll.id);
  if (poll.acked_seq == 0 && !poll.acked_id) return;
  database.run(
      "UPDATE inbox_heads SET acked_seq = max(acked_seq, min(last_seq, ?1), coalesce("
      "(SELECT seq FROM activity_logs WHERE id = ?2 AND workspace_id = ?3), 0)) WHERE workspace_id = ?3",
      poll.acked_seq, poll.acked_id, poll.id);
}

std::vector<WorkspaceId> ancestors_of(Database& database, WorkspaceId id) {
  std::vector<WorkspaceId> found;
  while (found.size() < kMostAncestors) {
    Statement row = database.query("SELECT parent_id FROM workspaces WHERE id = ?", id);
    if (!row.step() || row.is_null(0)) break;
    id = row.id<WorkspaceId>(0);
    found.push_back(id);
  }
  return found;
}

// Follows the whole chain: the check of who may send to whom follows 32 parents, but a cycle may be longer.
bool may_be_parent(Database& database, WorkspaceId parent, WorkspaceId child) {
  if (parent == child || !find_living(database, parent)) return false;
  Statement row = database.query(
      "WITH RECURSIVE above (id) AS (SELECT ?1 UNION SELECT w.parent_id FROM workspaces w JOIN above a ON w.id = a.id "
      "WHERE w.parent_id IS NOT NULL) SELECT 1 FROM above WHERE id = ?2",
      parent, child);
  return !row.step();
}

void insert(Database& database, const Workspace& workspace) {
  database.run(
      "INSERT INTO workspaces (id, name, role, parent_id, delivery_mode, url, status, created_at, updated_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      workspace.id, workspace.name, workspace.role, workspace.parent_id, name_of(workspace.delivery_mode),
      workspace.url, name_of(workspace.status), workspace.created_at, workspace.updated_at);
  database.run("INSERT INTO inbox_heads (workspace_id) VALUES (?)", workspace.id);
}

Result<Workspace> create(Database& database, const Workspace& made, std::optional<NewToken> enrolment = {}) {
  if (find(database, made.id)) return errors::workspace_exists;
  if (made.parent_id && !may_be_parent(database, *made.parent_id, made.id)) return errors::bad_parent;
  insert(database, made);
  if (enrolment) {
    enrolment->workspace_id = made.id;
    if (const auto added = add(database, *enrolment, made.created_at); !added) return added.error();
  }
  return made;
}

Result<Workspace> find_or_create(Database& database, const CheckedRegistration& registration, Time now) {
  auto found = find_living(database, registration.id);
  if (!registration.create_as) return found;
  // The workspace was created meanwhile: an enrolment for a new workspace gives no right to an existing one.
  if (found && registration.enrolment) return errors::workspace_exists;
  if (found || !found.error().is(errors::workspace_not_found)) return found;
  NewWorkspace wanted;
  wanted.id = registration.id;
  wanted.name = *registration.create_as;
  return create(database, made_of(wanted, now));
}

// The new token for the workspace, if it gets one.
Result<std::optional<Token>> give_token(Database& database, const CheckedRegistration& registration, Time now) {
  const bool live = has_live(database, registration.id, now);
  if (registration.first_only && live) return errors::invalid_token;
  if (!registration.token || (live && !registration.enrolment)) return std::optional<Token>();
  NewToken token = *registration.token;
  token.workspace_id = registration.id;
  auto given =
      registration.enrolment ? redeem(database, *registration.enrolment, token, now) : add(database, token, now);
  if (!given) return given.error();
  return std::optional<Token>(std::move(*given));
}

Result<RegisteredWorkspace> apply_registration(Database& database, const CheckedRegistration& registration, Time now) {
  auto workspace = find_or_create(database, registration, now);
  if (!workspace) return workspace.error();
  auto token = give_token(database, registration, now);
  if (!token) return token.error();
  take_over(*workspace, registration, now);
  database.run(
      "UPDATE workspaces SET delivery_mode = ?, url = ?, agent_card = ?, status = ?, last_heartbeat_at = ?, "
      "updated_at = ? WHERE id = ?",
      name_of(workspace->delivery_mode), workspace->url, or_null(workspace->agent_card), name_of(workspace->status),
      now, now, registration.id);
  return RegisteredWorkspace{std::move(*workspace), std::move(*token)};
}

}  // namespace

Commit<Result<Workspace>> EmbeddedStore::create_workspace(const NewWorkspace& workspace, Time now,
                                                          OptionalClaim<Workspace> claim) {
  return writer_.submit(sizeof(Workspace),
                        under_claim(std::move(claim), now,
                                    [made = made_of(workspace, now), enrolment = workspace.enrolment](
                                        Database& database) { return create(database, made, enrolment); }));
}

Result<Workspace> EmbeddedStore::find_workspace(WorkspaceId id) { return find(*readers_.take(), id); }

Result<DeliveryMode> EmbeddedStore::find_delivery(WorkspaceId id) {
  auto reader = readers_.take();
  Statement row = reader->query("SELECT delivery_mode, status FROM workspaces WHERE id = ?", id);
  if (!row.step()) return errors::workspace_not_found;
  if (status_of(row.view(1)) == WorkspaceStatus::removed) return errors::workspace_removed;
  return parse_delivery_mode(row.view(0)).value_or(DeliveryMode::push);
}

std::vector<Workspace> EmbeddedStore::list_workspaces() {
  auto reader = readers_.take();
  Statement row = reader->query(kSelect + "WHERE status <> 'removed' ORDER BY created_at, id");
  std::vector<Workspace> all;
  while (row.step()) all.push_back(workspace_of(row));
  return all;
}

Commit<Result<RegisteredWorkspace>> EmbeddedStore::register_agent(const CheckedRegistration& registration, Time now) {
  return writer_.submit(
      registration.url.size() + registration.agent_card.size(),
      [registration, now](Database& database) { return apply_registration(database, registration, now); });
}

Commit<Result<void>> EmbeddedStore::record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) {
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

Commit<Result<void>> EmbeddedStore::record_polls(std::span<const PollRecord> polls) {
  if (polls.empty()) return Commit<Result<void>>::ready({});
  std::vector<PollRecord> copy(polls.begin(), polls.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes, [polls = std::move(copy)](Database& database) -> Result<void> {
    for (const PollRecord& poll : polls) record_poll(database, poll);
    return {};
  });
}

Commit<Result<Workspace>> EmbeddedStore::patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) {
  return writer_.submit(sizeof patch, [id, patch, now](Database& database) -> Result<Workspace> {
    auto workspace = find_living(database, id);
    if (!workspace) return workspace;
    if (patch.parent_id && *patch.parent_id && !may_be_parent(database, **patch.parent_id, id))
      return errors::bad_parent;
    apply(*workspace, patch, now);
    database.run(
        "UPDATE workspaces SET name = ?, role = ?, url = ?, agent_card = ?, parent_id = ?, delivery_mode = ?, "
        "updated_at = ? "
        "WHERE id = ?",
        workspace->name, workspace->role, workspace->url, or_null(workspace->agent_card), workspace->parent_id,
        name_of(workspace->delivery_mode), now, id);
    return workspace;
  });
}

Commit<Result<std::vector<TokenId>>> EmbeddedStore::remove_workspace(WorkspaceId id, Time now) {
  return writer_.submit(sizeof id, [id, now](Database& database) -> Result<std::vector<TokenId>> {
    const auto workspace = find_living(database, id);
    if (!workspace) return workspace.error();
    std::vector<TokenId> tokens;
    {
      Statement row = database.query("SELECT id FROM tokens WHERE workspace_id = ? AND revoked_at IS NULL", id);
      while (row.step()) tokens.push_back(row.id<TokenId>(0));
    }
    database.run("UPDATE tokens SET revoked_at = ? WHERE workspace_id = ? AND revoked_at IS NULL", now, id);
    database.run("UPDATE workspaces SET status = 'removed', updated_at = ? WHERE id = ?", now, id);
    return tokens;
  });
}

Commit<Result<std::vector<StatusChange>>> EmbeddedStore::set_unseen_agents_offline(Time unseen_since, Time now) {
  return writer_.submit(sizeof now, [unseen_since, now](Database& database) -> Result<std::vector<StatusChange>> {
    std::vector<StatusChange> changes;
    {
      Statement row = database.query(
          "SELECT id, status FROM workspaces WHERE status IN ('online', 'degraded') "
          "AND max(coalesce(last_heartbeat_at, 0), coalesce(last_poll_at, 0)) < ?",
          unseen_since);
      while (row.step()) {
        changes.push_back({row.id<WorkspaceId>(0), status_of(row.view(1)), WorkspaceStatus::offline});
      }
    }
    for (const StatusChange& change : changes) {
      database.run("UPDATE workspaces SET status = 'offline', updated_at = ? WHERE id = ?", now, change.id);
    }
    return changes;
  });
}

std::vector<WorkspaceId> EmbeddedStore::ancestors(WorkspaceId id) { return ancestors_of(*readers_.take(), id); }

std::string EmbeddedStore::find_inbound_secret(WorkspaceId id) {
  auto reader = readers_.take();
  Statement row = reader->query("SELECT sealed FROM inbound_secrets WHERE workspace_id = ?", id);
  return row.step() ? row.text(0) : std::string();
}

Commit<Result<void>> EmbeddedStore::set_inbound_secret(WorkspaceId id, std::string sealed, Time now) {
  const std::size_t bytes = sealed.size();  // before the move: the evaluation order of arguments is unspecified
  return writer_.submit(bytes, [id, sealed = std::move(sealed), now](Database& database) -> Result<void> {
    const auto workspace = find_living(database, id);
    if (!workspace) return workspace.error();
    database.run("INSERT OR REPLACE INTO inbound_secrets (workspace_id, sealed, updated_at) VALUES (?, ?, ?)", id,
                 sealed, now);
    return {};
  });
}

}  // namespace restante::sqlite
