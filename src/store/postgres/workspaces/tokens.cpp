#include "store/postgres/workspaces/tokens.h"

#include "model/errors.h"
#include "model/workspace_rules.h"
#include "store/postgres/shared_store.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

const std::string kSelect = "SELECT " + kTokenColumns + " FROM tokens ";
const std::string kFindByHash = kSelect + "WHERE hash = $1";
const std::string kFindById = kSelect + "WHERE id = $1";
// The lock: opening a session by a token and revoking that token happen one after the other.
const std::string kLock = kFindById + " FOR UPDATE";
const std::string kNewestFirst = " ORDER BY created_at DESC, id DESC";
const std::string kListOwn = kSelect + "WHERE workspace_id = $1" + kNewestFirst;
const std::string kListUnbound = kSelect + "WHERE workspace_id IS NULL" + kNewestFirst;

std::optional<Token> first_of(const Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional<Token>(token_of(rows.front()));
}

std::optional<Token> lock(Transaction& transaction, TokenId id) {
  return first_of(transaction.connection().query(kLock, id));
}

void revoke(Transaction& transaction, TokenId id, Time now) {
  // Sessions end with the token they were opened with.
  transaction.run("UPDATE tokens SET revoked_at = $1 WHERE (id = $2 OR opened_by = $2) AND revoked_at IS NULL", now,
                  id);
  transaction.change_set().revoked.insert(id);
}

std::int64_t live_tokens(Connection& connection, WorkspaceId workspace, Time now) {
  return connection
      .query(
          "SELECT count(*) FROM tokens WHERE workspace_id = $1 AND kind = 'workspace' AND revoked_at IS NULL AND "
          "(expires_at IS NULL OR expires_at > $2)",
          workspace, now)
      .front()
      .integer(0);
}

}  // namespace

Result<Token> add(Transaction& transaction, const NewToken& token, Time now) {
  if (token.kind == TokenKind::workspace &&
      live_tokens(transaction.connection(), *token.workspace_id, now) >= kMostTokens) {
    return errors::too_many_tokens;
  }
  if (token.opened_by) {
    const auto opener = lock(transaction, *token.opened_by);
    if (!opener || !opener->live(now)) return errors::invalid_token;
  }
  const Token made = made_of(token, now);
  transaction.run(
      "INSERT INTO tokens (id, hash, kind, workspace_id, prefix, label, created_at, expires_at, opened_by) VALUES ($1, "
      "$2, $3, $4, $5, $6, $7, $8, $9)",
      made.id, token.hash, name_of(made.kind), made.workspace_id, made.prefix, made.label, made.created_at,
      made.expires_at, made.opened_by);
  return made;
}

bool has_live(Connection& connection, WorkspaceId workspace, Time now) {
  return live_tokens(connection, workspace, now) > 0;
}

Result<Token> redeem(Transaction& transaction, TokenId enrolment, const NewToken& token, Time now) {
  if (!may_redeem(lock(transaction, enrolment), token, now)) return errors::invalid_token;
  revoke(transaction, enrolment, now);
  return add(transaction, token, now);
}

Commit<Result<Token>> SharedStore::add_token(const NewToken& token, Time now) {
  WriteHints hints;
  if (token.workspace_id) hints.heads.push_back(*token.workspace_id);
  WriteLane& lane = token.workspace_id ? lane_of(*token.workspace_id) : *lanes_.front();
  return lane.submit(std::move(hints), sizeof token,
                     [token, now](Transaction& transaction) { return add(transaction, token, now); });
}

std::optional<Token> SharedStore::find_token(const Digest& hash) {
  return read_cache_.find_token(hash, [&] {
    return pool_.use([&](Connection& connection) { return first_of(connection.query(kFindByHash, hash)); });
  });
}

std::optional<Token> SharedStore::find_token(TokenId id) {
  return pool_.use([&](Connection& connection) { return first_of(connection.query(kFindById, id)); });
}

std::vector<Token> SharedStore::list_tokens(std::optional<WorkspaceId> workspace) {
  return pool_.use([&](Connection& connection) {
    std::vector<Token> all;
    for (const Row row : workspace ? connection.query(kListOwn, *workspace) : connection.query(kListUnbound)) {
      all.push_back(token_of(row));
    }
    return all;
  });
}

Commit<Result<bool>> SharedStore::revoke_token(TokenId id, Time now) {
  return lane_of(id).submit({}, sizeof id, [id, now](Transaction& transaction) -> Result<bool> {
    const auto token = lock(transaction, id);
    if (!token) return false;
    // An expired token, too: it must not become live again when the clock goes back.
    revoke(transaction, id, now);
    return token->live(now);
  });
}

Commit<Result<bool>> SharedStore::revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) {
  WriteHints hints;
  hints.heads.push_back(workspace);
  return lane_of(workspace).submit(std::move(hints), sizeof id,
                                   [workspace, id, now](Transaction& transaction) -> Result<bool> {
                                     const auto token = lock(transaction, id);
                                     if (!token || token->workspace_id != workspace) return false;
                                     revoke(transaction, id, now);
                                     return token->live(now);
                                   });
}

Commit<Result<void>> SharedStore::record_token_uses(std::span<const std::pair<TokenId, Time>> uses) {
  if (uses.empty()) return Commit<Result<void>>::ready({});
  // One entry for each token: an UPDATE of many rows changes none twice.
  std::map<TokenId, Time> latest;
  for (const auto& [id, at] : uses) latest[id] = std::max(latest[id], at);
  const std::size_t bytes = latest.size() * sizeof uses.front();
  return maintenance_lane_.submit(
      {.alone = true}, bytes, [latest = std::move(latest)](Transaction& transaction) -> Result<void> {
        Array ids(Type::uuid);
        Array times(Type::timestamptz);
        for (const auto& [id, at] : latest) {
          ids.add(id);
          times.add(at);
        }
        transaction.run("SELECT 1 FROM tokens WHERE id = ANY($1) ORDER BY id FOR UPDATE", ids);
        transaction.run(
            "UPDATE tokens t SET last_used_at = greatest(t.last_used_at, u.at) FROM unnest($1, $2) AS u (id, at) WHERE "
            "t.id = u.id",
            ids, times);
        return {};
      });
}

bool SharedStore::has_live_token(WorkspaceId workspace, Time now) {
  return pool_.use([&](Connection& connection) { return has_live(connection, workspace, now); });
}

}  // namespace restante::postgres
