#include "store/workspaces.h"

#include <algorithm>
#include <cstdint>

#include "model/workspace_rules.h"
#include "store/row_columns.h"
#include "store/sql/store.h"

namespace restante {
namespace {

// The lock under which parents are set, one at a time, so that two changes together never make a cycle.
constexpr std::int64_t kParents = 0x5245'5354'0000'0001;

const std::string kSelect = "SELECT " + kWorkspaceColumns + " FROM workspaces ";
const std::string kFind = kSelect + "WHERE id = $1";
// Where a page begins. Parameters: time and id.
const std::string kAfter = "created_at >= $1 AND (created_at, id) > ($1, $2) ";
const std::string kPage = "AND status <> 'removed' ORDER BY created_at, id LIMIT $3";
const std::string kList = kSelect + "WHERE " + kAfter + kPage;
// Its ancestors and descendants; then, by their index, those with the same parent. Further parameters: the workspace,
// its parent, how many hops. Both databases would go through all workspaces in the order of the page: SQLite does not
// change the order of a CROSS JOIN, and PostgreSQL plans a query with a LIMIT for itself.
const std::string kLineage =
    "WITH RECURSIVE above (id, hops) AS (SELECT w.parent_id, 1 FROM workspaces w WHERE w.id = $4 UNION ALL SELECT "
    "w.parent_id, a.hops + 1 FROM above a JOIN workspaces w ON w.id = a.id WHERE a.hops < $6), below (id, hops) AS "
    "(SELECT w.id, 1 FROM workspaces w WHERE w.parent_id = $4 UNION ALL SELECT w.id, b.hops + 1 FROM below b JOIN "
    "workspaces w ON w.parent_id = b.id WHERE b.hops < $6), lineage (relative) AS (SELECT id FROM above UNION ALL "
    "SELECT id FROM below) SELECT * FROM (SELECT " +
    kWorkspaceColumns + " FROM lineage CROSS JOIN workspaces WHERE id = relative AND " + kAfter +
    "AND status <> 'removed' LIMIT 9223372036854775807) AS family UNION ALL SELECT * FROM (" + kSelect;
const std::string kSiblings = "WHERE parent_id = $5 AND id <> $4 AND ";
const std::string kRoots = "WHERE parent_id IS NULL AND $5 IS NULL AND id <> $4 AND ";
const std::string kNoSiblings = "WHERE $5 IS NULL AND $4 IS NULL AND ";
const std::string kLastOfRelatives = ") AS siblings ORDER BY created_at, id LIMIT $3";
constexpr std::string_view kFindUnseen =
    "SELECT id, status FROM workspaces WHERE status IN ('online', 'degraded') AND (last_heartbeat_at IS NULL OR "
    "last_heartbeat_at < $1) AND (last_poll_at IS NULL OR last_poll_at < $1) ORDER BY id";

Result<Workspace> find(SqlReader& reader, WorkspaceId id) {
  auto found = reader.find(workspace_of, kFind, id);
  if (!found) return errors::workspace_not_found;
  return std::move(*found);
}

// The first page begins at the earliest time; after an unknown workspace there is nothing.
struct Start {
  Time time = Time::min();
  WorkspaceId id{};
};

Start start_of(SqlReader& reader, const WorkspacePage& page) {
  if (!page.after) return {};
  const auto created = reader.find([](const SqlRow& row) { return row.time(0); },
                                   "SELECT created_at FROM workspaces WHERE id = $1", *page.after);
  return {created.value_or(Time::max()), *page.after};
}

std::int64_t limit_of(const WorkspacePage& page) { return page.limit ? std::max(*page.limit, 0) : INT64_MAX; }

Result<Workspace> find_living(SqlReader& reader, WorkspaceId id) {
  auto workspace = find(reader, id);
  if (workspace && workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  return workspace;
}

// Follows the whole chain: the check of who may send to whom follows 32 parents, but a cycle may be longer.
bool may_be_parent(SqlTransaction& transaction, WorkspaceId parent, WorkspaceId child) {
  if (parent == child || !transaction.find_living_head(parent)) return false;
  return !transaction.has_row(
      "WITH RECURSIVE above (id) AS (SELECT $1 UNION SELECT w.parent_id FROM workspaces w JOIN above a ON w.id = a.id "
      "WHERE w.parent_id IS NOT NULL) SELECT 1 FROM above WHERE id = $2",
      parent, child);
}

Result<Workspace> create(SqlTransaction& transaction, const Workspace& made, std::optional<NewToken> enrolment = {}) {
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
    if (const auto added = add_token(transaction, *enrolment, made.created_at); !added) return added.error();
  }
  return made;
}

Result<Workspace> find_or_create(SqlTransaction& transaction, const CheckedRegistration& registration, Time now) {
  auto found = find_living(transaction, registration.id);
  if (!registration.create_as) return found;
  // The workspace was created meanwhile: an enrolment for a new workspace gives no right to an existing one.
  if (found && registration.enrolment) return errors::workspace_exists;
  if (found || !found.error().is(errors::workspace_not_found)) return found;
  NewWorkspace wanted;
  wanted.id = registration.id;
  wanted.name = *registration.create_as;
  const auto delivery = delivery_after(registration, nullptr);
  if (!delivery) return delivery.error();
  wanted.delivery_mode = delivery->mode;
  wanted.url = delivery->url;
  return create(transaction, made_of(wanted, now));
}

// The new token for the workspace, if it gets one.
Result<std::optional<Token>> give_token(SqlTransaction& transaction, const CheckedRegistration& registration,
                                        Time now) {
  const bool live = has_live_token(transaction, registration.id, now);
  if (registration.first_only && live) return errors::invalid_token;
  if (!registration.token || (live && !registration.enrolment)) return std::optional<Token>();
  NewToken token = *registration.token;
  token.workspace_id = registration.id;
  auto given = registration.enrolment ? redeem_enrolment(transaction, *registration.enrolment, token, now)
                                      : add_token(transaction, token, now);
  if (!given) return given.error();
  return std::optional<Token>(std::move(*given));
}

void update(SqlTransaction& transaction, const Workspace& workspace) {
  transaction.run(
      "UPDATE workspaces SET name = $2, role = $3, parent_id = $4, delivery_mode = $5, url = $6, agent_card = $7, "
      "status = $8, last_heartbeat_at = $9, updated_at = $10 WHERE id = $1",
      workspace.id, workspace.name, workspace.role, workspace.parent_id, name_of(workspace.delivery_mode),
      workspace.url, or_null(workspace.agent_card), name_of(workspace.status), workspace.last_heartbeat_at,
      workspace.updated_at);
  transaction.announce_changed(workspace.id);
}

std::string find_secret(SqlReader& reader, WorkspaceId id) {
  return reader
      .find([](const SqlRow& row) { return row.text(0); }, "SELECT sealed FROM inbound_secrets WHERE workspace_id = $1",
            id)
      .value_or("");
}

void store_secret(SqlTransaction& transaction, WorkspaceId id, const std::string& sealed, Time now) {
  // The column is text in SQLite and bytea in PostgreSQL; bytes || '' is what each of them stores.
  transaction.run(
      "INSERT INTO inbound_secrets (workspace_id, sealed, updated_at) VALUES ($1, $2 || '', $3) ON CONFLICT "
      "(workspace_id) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
      id, Bytes{sealed}, now);
}

// The secret that is stored after this.
std::string ensure_secret(SqlTransaction& transaction, WorkspaceId id, const std::optional<NewInboundSecret>& made,
                          Time now) {
  std::string stored = find_secret(transaction, id);
  if (!made || stored != made->replaces) return stored;
  store_secret(transaction, id, made->sealed, now);
  return made->sealed;
}

Result<RegisteredWorkspace> apply_registration(SqlTransaction& transaction, const CheckedRegistration& registration,
                                               Time now) {
  auto workspace = find_or_create(transaction, registration, now);
  if (!workspace) return workspace.error();
  auto delivery = delivery_after(registration, &*workspace);
  if (!delivery) return delivery.error();
  auto token = give_token(transaction, registration, now);
  if (!token) return token.error();
  take_over(*workspace, registration, std::move(*delivery), now);
  update(transaction, *workspace);
  std::string secret;
  if (workspace->delivery_mode == DeliveryMode::push) {
    secret = ensure_secret(transaction, workspace->id, registration.inbound_secret, now);
  }
  return RegisteredWorkspace{std::move(*workspace), std::move(*token), std::move(secret)};
}

Result<Workspace> apply_patch(SqlTransaction& transaction, WorkspaceId id, const WorkspacePatch& patch, Time now) {
  const bool adopts = patch.parent_id && *patch.parent_id;
  if (adopts) transaction.lock_number(kParents);
  auto workspace = find_living(transaction, id);
  if (!workspace) return workspace;
  if (adopts && !may_be_parent(transaction, **patch.parent_id, id)) return errors::bad_parent;
  apply(*workspace, patch, now);
  update(transaction, *workspace);
  return workspace;
}

std::vector<StatusChange> set_offline(SqlTransaction& transaction, Time unseen_since, Time now) {
  const auto read = [](const SqlRow& row) {
    return StatusChange{row.id<WorkspaceId>(0), status_of(row.view(1)), WorkspaceStatus::offline};
  };
  std::vector<WorkspaceId> unseen;
  for (const StatusChange& one : transaction.select(read, kFindUnseen, unseen_since)) unseen.push_back(one.id);
  if (unseen.empty()) return {};
  // An agent may have polled or sent a heartbeat while this waited for its head. Others are unseen only now, and their
  // heads are not locked.
  transaction.lock(unseen);
  auto changes = transaction.select(read, kFindUnseen, unseen_since);
  std::erase_if(changes, [&](const StatusChange& one) { return !std::ranges::binary_search(unseen, one.id); });
  for (const StatusChange& one : changes) {
    transaction.run("UPDATE workspaces SET status = 'offline', updated_at = $2 WHERE id = $1", one.id, now);
    transaction.announce_changed(one.id);
  }
  return changes;
}

}  // namespace

Commit<Result<Workspace>> SqlStore::create_workspace(const NewWorkspace& workspace, Time now,
                                                     OptionalClaim<Workspace> claim) {
  const Workspace made = made_of(workspace, now);
  WriteHints hints = hints_for(made.id);
  if (made.parent_id) hints.heads.push_back(*made.parent_id);
  hints.claim = scope_of(claim);
  return write(std::move(hints), sizeof made,
               under_claim(std::move(claim), now, [made, enrolment = workspace.enrolment](SqlTransaction& transaction) {
                 return create(transaction, made, enrolment);
               }));
}

Result<Workspace> SqlStore::find_workspace(WorkspaceId id) {
  return read([&](SqlReader& reader) { return find(reader, id); });
}

Result<DeliveryMode> SqlStore::find_delivery(WorkspaceId id) {
  const auto mode_of = [](const SqlRow& row) -> Result<DeliveryMode> {
    if (status_of(row.view(1)) == WorkspaceStatus::removed) return errors::workspace_removed;
    return parse_delivery_mode(row.view(0)).value_or(DeliveryMode::push);
  };
  return read([&](SqlReader& reader) {
    return reader.find(mode_of, "SELECT delivery_mode, status FROM workspaces WHERE id = $1", id)
        .value_or(errors::workspace_not_found);
  });
}

std::vector<Workspace> SqlStore::list_workspaces(const WorkspacePage& page) {
  return read([&](SqlReader& reader) {
    const Start start = start_of(reader, page);
    return reader.select(workspace_of, kList, start.time, start.id, limit_of(page));
  });
}

std::vector<Workspace> SqlStore::list_relatives(WorkspaceId id, bool roots, const WorkspacePage& page) {
  return read([&](SqlReader& reader) -> std::vector<Workspace> {
    const auto self = find(reader, id);
    if (!self) return {};
    const std::string& siblings = self->parent_id ? kSiblings : roots ? kRoots : kNoSiblings;
    const std::string sql = kLineage + siblings + kAfter + kPage + kLastOfRelatives;
    const Start start = start_of(reader, page);
    return reader.select(workspace_of, sql, start.time, start.id, limit_of(page), id, self->parent_id,
                         static_cast<std::int64_t>(kMostAncestors));
  });
}

Commit<Result<RegisteredWorkspace>> SqlStore::register_agent(const CheckedRegistration& registration, Time now) {
  return write(
      hints_for(registration.id), registration.url.size() + registration.agent_card.size(),
      [registration, now](SqlTransaction& transaction) { return apply_registration(transaction, registration, now); });
}

Commit<Result<void>> SqlStore::record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) {
  return write(hints_for(id), heartbeat.current_task.size(),
               [id, heartbeat, now](SqlTransaction& transaction) -> Result<void> {
                 const auto head = transaction.find_living_head(id);
                 if (!head) return head.error();
                 std::optional<std::string_view> status;
                 if (const auto rated = rated_status(heartbeat.error_rate)) status = name_of(*rated);
                 // Without a status it is as seen() says.
                 transaction.run(
                     "UPDATE workspaces SET status = coalesce($2, CASE status WHEN 'degraded' THEN status ELSE "
                     "'online' END), last_heartbeat_at = $3, current_task = $4, active_tasks = $5, uptime_seconds = "
                     "$6, last_error_rate = coalesce($7, last_error_rate), updated_at = $3 WHERE id = $1",
                     id, status, now, heartbeat.current_task, heartbeat.active_tasks, heartbeat.uptime_seconds,
                     heartbeat.error_rate);
                 return {};
               });
}

Commit<Result<Workspace>> SqlStore::patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) {
  WriteHints hints = hints_for(id);
  if (patch.parent_id && *patch.parent_id) {
    hints.heads.push_back(**patch.parent_id);
    hints.alone = true;
  }
  return write(std::move(hints), sizeof patch,
               [id, patch, now](SqlTransaction& transaction) { return apply_patch(transaction, id, patch, now); });
}

Commit<Result<std::vector<TokenId>>> SqlStore::remove_workspace(WorkspaceId id, Time now) {
  return write(hints_for(id), sizeof id, [id, now](SqlTransaction& transaction) -> Result<std::vector<TokenId>> {
    const auto head = transaction.find_living_head(id);
    if (!head) return head.error();
    auto tokens = transaction.change_rows(
        [](const SqlRow& row) { return row.id<TokenId>(0); },
        "UPDATE tokens SET revoked_at = $1 WHERE workspace_id = $2 AND revoked_at IS NULL RETURNING id", now, id);
    for (const TokenId& token : tokens) transaction.announce_revoked(token);
    transaction.remove_head(id);
    transaction.run("UPDATE workspaces SET status = 'removed', updated_at = $1 WHERE id = $2", now, id);
    return tokens;
  });
}

Commit<Result<std::vector<StatusChange>>> SqlStore::set_unseen_agents_offline(Time unseen_since, Time now) {
  // Looks at all that are online. A writer has other work, and mostly there is nothing to write.
  const bool unseen = read([&](SqlReader& reader) { return reader.has_row(kFindUnseen, unseen_since); });
  if (!unseen) return Commit<Result<std::vector<StatusChange>>>::ready(std::vector<StatusChange>());
  return write(maintenance_hints(), sizeof now,
               [unseen_since, now](SqlTransaction& transaction) -> Result<std::vector<StatusChange>> {
                 return set_offline(transaction, unseen_since, now);
               });
}

std::vector<WorkspaceId> SqlStore::ancestors(WorkspaceId id) {
  return read([&](SqlReader& reader) {
    return reader.select(
        [](const SqlRow& row) { return row.id<WorkspaceId>(0); },
        "WITH RECURSIVE above (id, hops) AS (SELECT parent_id, 1 FROM workspaces WHERE id = $1 UNION ALL SELECT "
        "w.parent_id, a.hops + 1 FROM above a JOIN workspaces w ON w.id = a.id WHERE a.hops < $2) SELECT id FROM above "
        "WHERE id IS NOT NULL ORDER BY hops",
        id, static_cast<std::int64_t>(kMostAncestors));
  });
}

bool SqlStore::is_reported_silent(WorkspaceId id) {
  if (!uploads_ready()) return false;
  return read([&](SqlReader& reader) {
    return reader.has_row("SELECT 1 FROM workspaces WHERE id = $1 AND silent_since IS NOT NULL", id);
  });
}

std::int64_t SqlStore::count_silent_agents() {
  if (!uploads_ready()) return 0;
  return read([](SqlReader& reader) {
    return reader
        .find([](const SqlRow& row) { return row.integer(0); },
              "SELECT count(*) FROM workspaces WHERE silent_since IS NOT NULL AND status <> 'removed'")
        .value();
  });
}

std::vector<QuietAgent> SqlStore::list_quiet_agents(Time polled_before) {
  if (!uploads_ready()) return {};
  const auto agent_of = [](const SqlRow& row) {
    QuietAgent agent{row.id<WorkspaceId>(0), row.time(1)};
    if (const auto gap = row.optional_integer(2)) agent.usual_gap = std::chrono::microseconds(*gap);
    return agent;
  };
  return read([&](SqlReader& reader) {
    return reader.select(agent_of,
                         "SELECT id, last_poll_at, usual_poll_gap FROM workspaces WHERE last_poll_at < $1 AND "
                         "delivery_mode = 'poll' AND status <> 'removed' AND silent_since IS NULL",
                         polled_before);
  });
}

Commit<Result<std::vector<WorkspaceId>>> SqlStore::record_silences(std::vector<QuietAgent> agents, Time now) {
  if (agents.empty() || !uploads_ready()) {
    return Commit<Result<std::vector<WorkspaceId>>>::ready(std::vector<WorkspaceId>());
  }
  WriteHints hints = maintenance_hints();
  // The lock of the head comes before that of any other row of a workspace.
  for (const QuietAgent& agent : agents) hints.heads.push_back(agent.id);
  const std::size_t bytes = agents.size() * sizeof agents.front();
  return write(std::move(hints), bytes,
               [agents = std::move(agents), now](SqlTransaction& transaction) -> Result<std::vector<WorkspaceId>> {
                 std::vector<WorkspaceId> silent;
                 for (const QuietAgent& agent : agents) {
                   const auto made = transaction.change(
                       "UPDATE workspaces SET silent_since = $2 WHERE id = $1 AND delivery_mode = 'poll' AND status <> "
                       "'removed' AND last_poll_at <= $3 AND silent_since IS NULL",
                       agent.id, now, agent.last_poll_at);
                   if (made > 0) silent.push_back(agent.id);
                 }
                 return silent;
               });
}

std::string SqlStore::find_inbound_secret(WorkspaceId id) {
  return read([&](SqlReader& reader) { return find_secret(reader, id); });
}

Commit<Result<std::string>> SqlStore::ensure_inbound_secret(WorkspaceId id, NewInboundSecret secret, Time now) {
  const std::size_t bytes = secret.sealed.size() + secret.replaces.size();
  return write(hints_for(id), bytes,
               [id, secret = std::move(secret), now](SqlTransaction& transaction) -> Result<std::string> {
                 const auto head = transaction.find_living_head(id);
                 if (!head) return head.error();
                 return ensure_secret(transaction, id, secret, now);
               });
}

Commit<Result<void>> SqlStore::set_inbound_secret(WorkspaceId id, std::string sealed, Time now) {
  const std::size_t bytes = sealed.size();  // before the move: the evaluation order of arguments is unspecified
  return write(hints_for(id), bytes,
               [id, sealed = std::move(sealed), now](SqlTransaction& transaction) -> Result<void> {
                 const auto head = transaction.find_living_head(id);
                 if (!head) return head.error();
                 store_secret(transaction, id, sealed, now);
                 return {};
               });
}

}  // namespace restante
