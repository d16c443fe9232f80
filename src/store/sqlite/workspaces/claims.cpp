#include "store/sqlite/workspaces/claims.h"

#include "store/sql/claims.h"

namespace restante::sqlite {

Result<std::optional<std::string>> find_claim(Database& database, const Claim& claim, Time now) {
  return find_kept_answer(database, claim, now);
}

void keep_claim(Database& database, const Claim& claim, const std::string& answer) {
  // An expired claim of the same scope may not be pruned yet.
  database.run("INSERT OR REPLACE INTO idempotency_keys (scope, request, answer, expires_at) VALUES (?, ?, ?, ?)",
               claim.scope, claim.request, answer, claim.expires_at);
}

}  // namespace restante::sqlite
