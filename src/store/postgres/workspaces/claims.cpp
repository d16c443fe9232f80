#include "model/errors.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {

Result<std::optional<std::string>> SharedStore::find_answer(const Claim& claim, Time now) {
  return pool_.use([&](Connection& connection) -> Result<std::optional<std::string>> {
    const auto found = connection.query(
        "SELECT request, answer FROM idempotency_keys WHERE scope = $1 AND expires_at > $2", claim.scope, now);
    if (found.empty()) return std::optional<std::string>();
    if (found.front().digest(0) != claim.request) return errors::idempotency_mismatch;
    return std::optional<std::string>(found.front().text(1));
  });
}

}  // namespace restante::postgres
