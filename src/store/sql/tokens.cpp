#include "store/sql/store.h"

#include "model/workspace_rules.h"
#include "store/row_columns.h"

namespace restante {
namespace {

const std::string kSelect = "SELECT " + kTokenColumns + " FROM tokens ";
const std::string kFindByHash = kSelect + "WHERE hash = $1";
const std::string kFindById = kSelect + "WHERE id = $1";
// The lock: opening a session by a token and revoking that token happen one after the other.
const std::string kLock = kFindById + " FOR UPDATE";
const std::string kNewestFirst = " ORDER BY created_at DESC, id DESC";
const std::string kListOwn = kSelect + "WHERE workspace_id = $1" + kNewestFirst;
const std::string kListUnbound = kSelect + "WHERE workspace_id IS NULL" + kNewestFirst;

// The lock under which sessions of the operator's token are opened, which is in no row that could be locked.
constexpr std::int64_t kOperatorsSessions = 0x5245'5354'0000'0002;

// The live sessions of a token after the newest ones; of the operator's token for NULL. Never the one that was just
// opened, which is not the newest after the clock was set back.
std::vector<TokenId> superfluous_sessions(SqlReader& reader, const Token& opened, Time now) {
  const std::string of_token =
      opened.opened_by ? "opened_by = $1" : "workspace_id IS NULL AND opened_by IS NULL AND $1 IS NULL";
  return reader.select([](const SqlRow& row) { return row.id<TokenId>(0); },
                       "SELECT id FROM tokens WHERE " + of_token +
                           " AND kind = 'session' AND revoked_at IS NULL AND expires_at > $2 AND id <> $3 ORDER BY "
                           "created_at DESC, id DESC LIMIT 1000 OFFSET $4",
                       opened.opened_by, now, opened.id, std::int64_t{kMostSessions} - 1);
}

void revoke(SqlTransaction& transaction, TokenId id, Time now) {
  // Sessions end with the token they were opened with.
  transaction.run("UPDATE tokens SET revoked_at = $1 WHERE (id = $2 OR opened_by = $2) AND revoked_at IS NULL", now,
                  id);
  transaction.announce_revoked(id);
}

std::int64_t live_tokens(SqlReader& reader, WorkspaceId workspace, Time now) {
  const auto count = reader.find(
      [](const SqlRow& row) { return row.integer(0); },
      "SELECT count(*) FROM tokens WHERE workspace_id = $1 AND kind = 'workspace' AND revoked_at IS NULL AND "
      "(expires_at IS NULL OR expires_at > $2)",
      workspace, now);
  return count.value();
}

}  // namespace

Result<Token> add_token(SqlTransaction& transaction, const NewToken& token, Time now) {
  if (token.kind == TokenKind::workspace && live_tokens(transaction, *token.workspace_id, now) >= kMostTokens) {
    return errors::too_many_tokens;
  }
  if (token.opened_by) {
    const auto opener = transaction.find(token_of, kLock, *token.opened_by);
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

std::int64_t prune_tokens(SqlTransaction& transaction, Time ended_before, std::int64_t limit) {
  std::int64_t deleted = 0;
  for (const char* sql :
       {"DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE revoked_at < $1 ORDER BY revoked_at LIMIT $2)",
        "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"}) {
    deleted += transaction.change(sql, ended_before, limit - deleted);
  }
  return deleted;
}

bool has_live_token(SqlReader& reader, WorkspaceId workspace, Time now) {
  return live_tokens(reader, workspace, now) > 0;
}

Result<Token> redeem_enrolment(SqlTransaction& transaction, TokenId enrolment, const NewToken& token, Time now) {
  const auto found = transaction.find(token_of, kLock, enrolment);
  if (!may_redeem(found, token, now)) return errors::invalid_token;
  revoke(transaction, enrolment, now);
  return add_token(transaction, token, now);
}

Commit<Result<Token>> SqlStore::add_token(const NewToken& token, Time now) {
  WriteHints hints = token.workspace_id ? hints_for(*token.workspace_id) : WriteHints{.lane = Uuid()};
  return write(std::move(hints), sizeof token,
               [token, now](SqlTransaction& transaction) { return restante::add_token(transaction, token, now); });
}

Commit<Result<OpenedSession>> SqlStore::open_session(const NewToken& session, Time now) {
  WriteHints hints = session.workspace_id ? hints_for(*session.workspace_id) : WriteHints{.lane = Uuid()};
  return write(std::move(hints), sizeof session, [session, now](SqlTransaction& transaction) -> Result<OpenedSession> {
    if (!session.opened_by) transaction.lock_number(kOperatorsSessions);
    auto added = restante::add_token(transaction, session, now);
    if (!added) return added.error();
    OpenedSession opened{std::move(*added), {}};
    opened.ended = superfluous_sessions(transaction, opened.session, now);
    for (const TokenId& id : opened.ended) revoke(transaction, id, now);
    return opened;
  });
}

std::optional<Token> SqlStore::find_token(const Digest& hash) {
  return cached_token(
      hash, [&] { return read([&](SqlReader& reader) { return reader.find(token_of, kFindByHash, hash); }); });
}

std::optional<Token> SqlStore::find_token(TokenId id) {
  return read([&](SqlReader& reader) { return reader.find(token_of, kFindById, id); });
}

std::vector<Token> SqlStore::list_tokens(std::optional<WorkspaceId> workspace) {
  return read([&](SqlReader& reader) {
    return workspace ? reader.select(token_of, kListOwn, *workspace) : reader.select(token_of, kListUnbound);
  });
}

Commit<Result<bool>> SqlStore::revoke_token(TokenId id, Time now) {
  return write({.lane = id.uuid()}, sizeof id, [id, now](SqlTransaction& transaction) -> Result<bool> {
    const auto token = transaction.find(token_of, kLock, id);
    if (!token) return false;
    // An expired token, too: it must not become live again when the clock goes back.
    revoke(transaction, id, now);
    return token->live(now);
  });
}

Commit<Result<bool>> SqlStore::revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) {
  return write(hints_for(workspace), sizeof id, [workspace, id, now](SqlTransaction& transaction) -> Result<bool> {
    const auto token = transaction.find(token_of, kLock, id);
    if (!token || token->workspace_id != workspace) return false;
    revoke(transaction, id, now);
    return token->live(now);
  });
}

bool SqlStore::has_live_token(WorkspaceId workspace, Time now) {
  return read([&](SqlReader& reader) { return restante::has_live_token(reader, workspace, now); });
}

}  // namespace restante
