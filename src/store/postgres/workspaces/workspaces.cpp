#include <algorithm>
#include <map>

#include "model/errors.h"
#include "model/workspace_rules.h"
#include "store/postgres/shared_store.h"
#include "store/postgres/workspaces/tokens.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

// The advisory lock under which parents are set, one at a time, so that two changes together never make a cycle.
constexpr std::int64_t kParents = 0x5245'5354'0000'0001;

const std::string kSelect = "SELECT " + kWorkspaceColumns + " FROM workspaces ";
const std::string kFind = kSelect + "WHERE id = $1";
const std::string kList = kSelect + "WHERE status <> 'removed' ORDER BY created_at, id";

Result<Workspace> find(Connection& connection, WorkspaceId id) {
  const auto found = connection.query(kFind, id);
  if (found.empty()) return errors::workspace_not_found;
  return workspace_of(found.front());
}

Result<Workspace> find_living(Connection& connection, WorkspaceId id) {
  auto workspace = find(connection, id);
  if (workspace && workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  return workspace;
}

// The whole chain: the check of who may talk to whom reads only 32 parents, a cycle may be longer.
bool may_be_parent(Transaction& transaction, WorkspaceId parent, WorkspaceId child) {
  if (parent == child || !transaction.find_living_head(parent)) return false;
  return transaction.connection()
      .query(
          "WITH RECURSIVE above (id) AS (SELECT $1 UNION SELECT w.parent_id FROM workspaces w JOIN above a ON w.id = "
          "a.id WHERE w.parent_id IS NOT NULL) SELECT 1 FROM above WHERE id = $2",
          parent, child)
      .empty();
}

Result<Workspace> create(Transaction& transaction, const Workspace& made, std::optional<NewToken> enrolment = {}) {
  if (transaction.head(made.id)) return errors::workspace_exists;
  if (made.parent_id && !may_be_parent(transaction, *made.parent_id, made.id)) return errors::bad_parent;
  transaction.run(
      "INSERT INTO workspaces (id, name, role, parent_id, delivery_mode, url, status, created_at, updated_at) VALUES "
      "($1, $2, $3, $4, $5, $6, $7, $8, $9)",
      made.id, made.name, made.role, made.parent_id, name_of(made.delivery_mode), made.url, name_of(made.status),
      made.created_at, made.updated_at);
  transaction.make_head(made.id);
  if (enrolment) {
    enrolment->workspace_id = made.id;
    if (const auto added = add(transaction, *enrolment, made.created_at); !added) return added.error();
  }
  return made;
}

WriteHints hints_of(const Workspace& made) {
  WriteHints hints;
  hints.heads.push_back(made.id);
  if (made.parent_id) hints.heads.push_back(*made.parent_id);
  return hints;
}

Result<Workspace> find_or_create(Transaction& transaction, const CheckedRegistration& entry, Time now) {
  auto found = find_living(transaction.connection(), entry.id);
  if (!entry.create_as) return found;
  // Another registration created it meanwhile: an enrolment for a new workspace gives no right to an existing one.
  if (found && entry.enrolment) return errors::workspace_exists;
  if (found || !found.error().is(errors::workspace_not_found)) return found;
  NewWorkspace wanted;
  wanted.id = entry.id;
  wanted.name = *entry.create_as;
  return create(transaction, made_of(wanted, now));
}

// The new token, if the agent gets one.
Result<std::optional<Token>> give_token(Transaction& transaction, const CheckedRegistration& entry, Time now) {
  const bool live = has_live(transaction.connection(), entry.id, now);
  if (entry.first_only && live) return errors::invalid_token;
  if (!entry.token || (live && !entry.enrolment)) return std::optional<Token>();
  NewToken token = *entry.token;
  token.workspace_id = entry.id;
  auto given = entry.enrolment ? redeem(transaction, *entry.enrolment, token, now) : add(transaction, token, now);
  if (!given) return given.error();
  return std::optional<Token>(std::move(*given));
}

void write(Transaction& transaction, const Workspace& workspace) {
  transaction.run(
      "UPDATE workspaces SET name = $2, role = $3, parent_id = $4, delivery_mode = $5, url = $6, agent_card = $7, "
      "status = $8, last_heartbeat_at = $9, updated_at = $10 WHERE id = $1",
      workspace.id, workspace.name, workspace.role, workspace.parent_id, name_of(workspace.delivery_mode),
      workspace.url, or_null(workspace.agent_card), name_of(workspace.status), workspace.last_heartbeat_at,
      workspace.updated_at);
  transaction.change_set().changed.insert(workspace.id);
}

Result<RegisteredWorkspace> apply_registration(Transaction& transaction, const CheckedRegistration& entry, Time now) {
  auto workspace = find_or_create(transaction, entry, now);
  if (!workspace) return workspace.error();
  auto token = give_token(transaction, entry, now);
  if (!token) return token.error();
  take_over(*workspace, entry, now);
  write(transaction, *workspace);
  return RegisteredWorkspace{std::move(*workspace), std::move(*token)};
}

Result<Workspace> patch(Transaction& transaction, WorkspaceId id, const WorkspacePatch& wanted, Time now) {
  const bool adopts = wanted.parent_id && *wanted.parent_id;
  if (adopts) transaction.connection().query("SELECT pg_advisory_xact_lock($1)", kParents);
  auto workspace = find_living(transaction.connection(), id);
  if (!workspace) return workspace;
  if (adopts && !may_be_parent(transaction, **wanted.parent_id, id)) return errors::bad_parent;
  apply(*workspace, wanted, now);
  write(transaction, *workspace);
  return workspace;
}

// Merges the polls of each workspace into one record.
std::map<WorkspaceId, PollRecord> merged(std::span<const PollRecord> polls) {
  std::map<WorkspaceId, PollRecord> all;
  for (const PollRecord& poll : polls) {
    PollRecord& one = all.try_emplace(poll.id, poll).first->second;
    one.at = std::max(one.at, poll.at);
    if (poll.usual_gap) one.usual_gap = poll.usual_gap;
    one.acked_seq = std::max(one.acked_seq, poll.acked_seq);
    if (poll.acked_id) one.acked_id = poll.acked_id;
  }
  return all;
}

// Records are written late and in any order, so an older poll or cursor must not undo a newer one.
Result<void> record(Transaction& transaction, std::span<const PollRecord> polls) {
  Bulk signs(
      "UPDATE workspaces w SET last_poll_at = greatest(w.last_poll_at, u.at), usual_poll_gap = coalesce(u.gap, "
      "w.usual_poll_gap), status = CASE w.status WHEN 'degraded' THEN w.status ELSE 'online' END FROM unnest($1, $2, "
      "$3) AS u (id, at, gap) WHERE w.id = u.id AND w.status <> 'removed'",
      {Type::uuid, Type::timestamptz, Type::int8});
  for (const auto& [id, poll] : merged(polls)) {
    std::optional<std::int64_t> gap;
    if (poll.usual_gap) gap = poll.usual_gap->count();
    signs.add(id, poll.at, gap);
  }
  signs.send(transaction.connection());
  for (const PollRecord& poll : polls) {
    if (poll.acked_seq == 0 && !poll.acked_id) continue;
    transaction.run(
        "UPDATE inbox_heads SET acked_seq = greatest(acked_seq, least(last_seq, $1), (SELECT seq FROM activity_logs "
        "WHERE id = $2 AND workspace_id = $3)) WHERE workspace_id = $3",
        poll.acked_seq, poll.acked_id, poll.id);
  }
  transaction.changed();
  return {};
}

}  // namespace

Commit<Result<Workspace>> SharedStore::create_workspace(const NewWorkspace& workspace, Time now,
                                                        OptionalClaim<Workspace> claim) {
  const Workspace made = made_of(workspace, now);
  WriteHints hints = hints_of(made);
  hints.claim = scope_of(claim);
  return lane_of(made.id).submit(
      std::move(hints), sizeof made,
      under_claim(std::move(claim), now, [made, enrolment = workspace.enrolment](Transaction& transaction) {
        return create(transaction, made, enrolment);
      }));
}

Result<Workspace> SharedStore::find_workspace(WorkspaceId id) {
  return pool_.use([&](Connection& connection) { return find(connection, id); });
}

Result<DeliveryMode> SharedStore::find_delivery(WorkspaceId id) {
  return read_cache_.find_delivery(id, [&] {
    return pool_.use([&](Connection& connection) -> Result<DeliveryMode> {
      const auto found = connection.query("SELECT delivery_mode, status FROM workspaces WHERE id = $1", id);
      if (found.empty()) return errors::workspace_not_found;
      const Row row = found.front();
      if (status_of(row.view(1)) == WorkspaceStatus::removed) return errors::workspace_removed;
      return parse_delivery_mode(row.view(0)).value_or(DeliveryMode::push);
    });
  });
}

std::vector<Workspace> SharedStore::list_workspaces() {
  return pool_.use([&](Connection& connection) {
    std::vector<Workspace> all;
    for (const Row row : connection.query(kList)) all.push_back(workspace_of(row));
    return all;
  });
}

Commit<Result<RegisteredWorkspace>> SharedStore::register_agent(const CheckedRegistration& entry, Time now) {
  return lane_of(entry.id).submit(
      {.heads = {entry.id}}, entry.url.size() + entry.agent_card.size(),
      [entry, now](Transaction& transaction) { return apply_registration(transaction, entry, now); });
}

Commit<Result<void>> SharedStore::record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) {
  return lane_of(id).submit(
      {.heads = {id}}, heartbeat.current_task.size(), [id, heartbeat, now](Transaction& transaction) -> Result<void> {
        const auto head = transaction.find_living_head(id);
        if (!head) return head.error();
        // The same rule as after_beat(), in SQL.
        transaction.run(
            "UPDATE workspaces SET status = CASE WHEN $2 >= 0.5 THEN 'degraded' WHEN $2 < 0.1 "
            "THEN 'online' WHEN status = 'degraded' THEN status ELSE 'online' END, "
            "last_heartbeat_at = $3, current_task = $4, active_tasks = $5, uptime_seconds = $6, "
            "last_error_rate = coalesce($2, last_error_rate), updated_at = $3 WHERE id = $1",
            id, heartbeat.error_rate, now, heartbeat.current_task, heartbeat.active_tasks, heartbeat.uptime_seconds);
        return {};
      });
}

Commit<Result<void>> SharedStore::record_polls(std::span<const PollRecord> polls) {
  if (polls.empty()) return Commit<Result<void>>::ready({});
  std::vector<PollRecord> copy(polls.begin(), polls.end());
  WriteHints hints;
  for (const PollRecord& poll : copy) hints.heads.push_back(poll.id);
  hints.alone = true;
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return maintenance_lane_.submit(std::move(hints), bytes, [polls = std::move(copy)](Transaction& transaction) {
    return record(transaction, polls);
  });
}

Commit<Result<Workspace>> SharedStore::patch_workspace(WorkspaceId id, const WorkspacePatch& wanted, Time now) {
  WriteHints hints{.heads = {id}};
  if (wanted.parent_id && *wanted.parent_id) {
    hints.heads.push_back(**wanted.parent_id);
    hints.alone = true;
  }
  return lane_of(id).submit(std::move(hints), sizeof wanted, [id, wanted, now](Transaction& transaction) {
    return patch(transaction, id, wanted, now);
  });
}

Commit<Result<std::vector<TokenId>>> SharedStore::remove_workspace(WorkspaceId id, Time now) {
  return lane_of(id).submit(
      {.heads = {id}}, sizeof id, [id, now](Transaction& transaction) -> Result<std::vector<TokenId>> {
        const auto head = transaction.find_living_head(id);
        if (!head) return head.error();
        std::vector<TokenId> tokens;
        const auto revoked = transaction.connection().query(
            "UPDATE tokens SET revoked_at = $1 WHERE workspace_id = $2 AND revoked_at IS NULL RETURNING id", now, id);
        for (const Row row : revoked) tokens.push_back(row.id<TokenId>(0));
        transaction.change_set().revoked.insert(tokens.begin(), tokens.end());
        transaction.remove_head(id);
        transaction.run("UPDATE workspaces SET status = 'removed', updated_at = $1 WHERE id = $2", now, id);
        return tokens;
      });
}

Commit<Result<std::vector<StatusChange>>> SharedStore::set_unseen_agents_offline(Time unseen_since, Time now) {
  return maintenance_lane_.submit(
      {.alone = true}, sizeof now, [unseen_since, now](Transaction& transaction) -> Result<std::vector<StatusChange>> {
        static const std::string unseen =
            "status IN ('online', 'degraded') AND greatest(last_heartbeat_at, last_poll_at, 'epoch') < $1";
        static const std::string find_unseen = "SELECT id FROM workspaces WHERE " + unseen;
        static const std::string find_again = "SELECT id, status FROM workspaces WHERE " + unseen + " ORDER BY id";
        static const std::string settle =
            "UPDATE workspaces SET status = 'offline', updated_at = $2 WHERE id = ANY($3) AND " + unseen;
        std::vector<WorkspaceId> candidates;
        for (const Row row : transaction.connection().query(find_unseen, unseen_since)) {
          candidates.push_back(row.id<WorkspaceId>(0));
        }
        std::vector<StatusChange> changes;
        if (candidates.empty()) return changes;
        // An agent may have polled or sent a heartbeat while this waited for its head.
        transaction.lock(candidates);
        Array ids(Type::uuid);
        for (const Row row : transaction.connection().query(find_again, unseen_since)) {
          const auto id = row.id<WorkspaceId>(0);
          if (std::ranges::find(candidates, id) == candidates.end()) continue;
          changes.push_back({id, status_of(row.view(1)), WorkspaceStatus::offline});
          ids.add(id);
          transaction.change_set().changed.insert(id);
        }
        if (!changes.empty()) transaction.run(settle, unseen_since, now, ids);
        return changes;
      });
}

std::vector<WorkspaceId> SharedStore::ancestors(WorkspaceId id) {
  return pool_.use([&](Connection& connection) {
    std::vector<WorkspaceId> found;
    const auto rows = connection.query(
        "WITH RECURSIVE above (id, hops) AS (SELECT parent_id, 1 FROM workspaces WHERE id = $1 UNION ALL SELECT "
        "w.parent_id, a.hops + 1 FROM above a JOIN workspaces w ON w.id = a.id WHERE a.hops < $2) SELECT id FROM above "
        "WHERE id IS NOT NULL ORDER BY hops",
        id, static_cast<std::int64_t>(kMostAncestors));
    for (const Row row : rows) found.push_back(row.id<WorkspaceId>(0));
    return found;
  });
}

std::string SharedStore::find_inbound_secret(WorkspaceId id) {
  return pool_.use([&](Connection& connection) {
    const auto found = connection.query("SELECT sealed FROM inbound_secrets WHERE workspace_id = $1", id);
    return found.empty() ? std::string() : found.front().text(0);
  });
}

Commit<Result<void>> SharedStore::set_inbound_secret(WorkspaceId id, std::string sealed, Time now) {
  const std::size_t bytes = sealed.size();  // first: the evaluation order of arguments is unspecified
  return lane_of(id).submit(
      {.heads = {id}}, bytes, [id, sealed = std::move(sealed), now](Transaction& transaction) -> Result<void> {
        const auto head = transaction.find_living_head(id);
        if (!head) return head.error();
        transaction.run(
            "INSERT INTO inbound_secrets (workspace_id, sealed, updated_at) VALUES ($1, $2, $3) ON CONFLICT "
            "(workspace_id) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
            id, Bytes{sealed}, now);
        return {};
      });
}

}  // namespace restante::postgres
