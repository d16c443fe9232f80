#include <map>

#include "store/postgres/shared_store.h"

namespace restante::postgres {

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

}  // namespace restante::postgres
