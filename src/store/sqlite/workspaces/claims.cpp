#include "store/sqlite/workspaces/claims.h"

#include "model/errors.h"
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {

Result<std::optional<std::string>> find_claim(Database& database, const Claim& claim, Time now) {
  Statement row = database.query("SELECT request, answer FROM idempotency_keys WHERE scope = ?1 AND expires_at > ?2",
                                 claim.scope, now);
  if (!row.step()) return std::optional<std::string>();
  if (row.digest(0) != claim.request) return errors::idempotency_mismatch;
  return std::optional<std::string>(row.text(1));
}

void keep_claim(Database& database, const Claim& claim, const std::string& answer) {
  // An expired claim of the same scope may not be pruned yet.
  database.run("INSERT OR REPLACE INTO idempotency_keys (scope, request, answer, expires_at) VALUES (?, ?, ?, ?)",
               claim.scope, claim.request, answer, claim.expires_at);
}

Result<std::optional<std::string>> EmbeddedStore::find_answer(const Claim& claim, Time now) {
  return find_claim(*readers_.take(), claim, now);
}

}  // namespace restante::sqlite
