#include "store/sql/transaction.h"

#include "model/errors.h"
#include "store/sql/store.h"

namespace restante {

Result<std::optional<std::string>> find_kept_answer(SqlReader& reader, const Claim& claim, Time now) {
  const auto read = [](const SqlRow& row) { return std::pair(row.digest(0), row.text(1)); };
  const auto kept = reader.find(
      read, "SELECT request, answer FROM idempotency_keys WHERE scope = $1 AND expires_at > $2", claim.scope, now);
  if (!kept) return std::optional<std::string>();
  if (kept->first != claim.request) return errors::idempotency_mismatch;
  return std::optional<std::string>(kept->second);
}

Result<std::optional<std::string>> SqlStore::find_answer(const Claim& claim, Time now) {
  return read([&](SqlReader& reader) { return find_kept_answer(reader, claim, now); });
}

}  // namespace restante
