#include "store/sqlite/workspaces/tokens.h"

#include "model/errors.h"
#include "model/workspace_rules.h"
#include "store/row_columns.h"
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

const std::string kSelect = "SELECT " + kTokenColumns + " FROM tokens ";
const std::string kFindByHash = kSelect + "WHERE hash = ?";
const std::string kFindById = kSelect + "WHERE id = ?";

std::optional<Token> find(Database& database, TokenId id) {
  Statement row = database.query(kFindById, id);
  return row.step() ? std::optional<Token>(token_of(row)) : std::nullopt;
}

void insert(Database& database, const Token& token, const Digest& hash) {
  database.run(
      "INSERT INTO tokens (id, hash, kind, workspace_id, prefix, label, created_at, expires_at, opened_by) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      token.id, hash, name_of(token.kind), token.workspace_id, token.prefix, token.label, token.created_at,
      token.expires_at, token.opened_by);
}

void revoke(Database& database, TokenId id, Time now) {
  // Sessions end with the token they were opened with.
  database.run("UPDATE tokens SET revoked_at = ?1 WHERE (id = ?2 OR opened_by = ?2) AND revoked_at IS NULL", now, id);
}

std::int64_t live_tokens(Database& database, WorkspaceId workspace, Time now) {
  Statement row = database.query(
      "SELECT count(*) FROM tokens WHERE workspace_id = ?1 AND kind = 'workspace' AND revoked_at IS NULL "
      "AND (expires_at IS NULL OR expires_at > ?2)",
      workspace, now);
  return row.step() ? row.integer(0) : 0;
}

}  // namespace

Result<Token> add(Database& database, const NewToken& token, Time now) {
  if (token.kind == TokenKind::workspace && live_tokens(database, *token.workspace_id, now) >= kMostTokens) {
    return errors::too_many_tokens;
  }
  if (token.opened_by) {
    const auto opener = find(database, *token.opened_by);
    if (!opener || !opener->live(now)) return errors::invalid_token;
  }
  const Token made = made_of(token, now);
  insert(database, made, token.hash);
  return made;
}

bool has_live(Database& database, WorkspaceId workspace, Time now) { return live_tokens(database, workspace, now) > 0; }

Result<Token> redeem(Database& database, TokenId enrolment, const NewToken& token, Time now) {
  if (!may_redeem(find(database, enrolment), token, now)) return errors::invalid_token;
  revoke(database, enrolment, now);
  return add(database, token, now);
}

Commit<Result<Token>> EmbeddedStore::add_token(const NewToken& token, Time now) {
  return writer_.submit(sizeof token, [token, now](Database& database) { return add(database, token, now); });
}

std::optional<Token> EmbeddedStore::find_token(const Digest& hash) {
  return token_cache_.find(hash, [&] {
    auto reader = readers_.take();
    Statement row = reader->query(kFindByHash, hash);
    return row.step() ? std::optional<Token>(token_of(row)) : std::nullopt;
  });
}

std::optional<Token> EmbeddedStore::find_token(TokenId id) { return find(*readers_.take(), id); }

std::vector<Token> EmbeddedStore::list_tokens(std::optional<WorkspaceId> workspace) {
  auto reader = readers_.take();
  Statement row = reader->query(kSelect + "WHERE workspace_id IS ? ORDER BY created_at DESC, id DESC", workspace);
  std::vector<Token> all;
  while (row.step()) all.push_back(token_of(row));
  return all;
}

Commit<Result<bool>> EmbeddedStore::revoke_token(TokenId id, Time now) {
  return writer_.submit(sizeof id, [id, now](Database& database) -> Result<bool> {
    const auto token = find(database, id);
    if (!token) return false;
    // An expired token too: if the clock goes back, it must not become valid again.
    revoke(database, id, now);
    return token->live(now);
  });
}

Commit<Result<bool>> EmbeddedStore::revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) {
  return writer_.submit(sizeof id, [workspace, id, now](Database& database) -> Result<bool> {
    const auto token = find(database, id);
    if (!token || token->workspace_id != workspace) return false;
    revoke(database, id, now);
    return token->live(now);
  });
}

Commit<Result<void>> EmbeddedStore::record_token_uses(std::span<const std::pair<TokenId, Time>> uses) {
  if (uses.empty()) return Commit<Result<void>>::ready({});
  std::vector<std::pair<TokenId, Time>> copy(uses.begin(), uses.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes, [uses = std::move(copy)](Database& database) -> Result<void> {
    for (const auto& [id, at] : uses) {
      database.run("UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?1) WHERE id = ?2", at, id);
    }
    return {};
  });
}

bool EmbeddedStore::has_live_token(WorkspaceId workspace, Time now) {
  auto reader = readers_.take();
  Statement row = reader->query(
      "SELECT 1 FROM tokens WHERE workspace_id = ?1 AND kind = 'workspace' AND revoked_at IS NULL "
      "AND (expires_at IS NULL OR expires_at > ?2) LIMIT 1",
      workspace, now);
  return row.step();
}

}  // namespace restante::sqlite
