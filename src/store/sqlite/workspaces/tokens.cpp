#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {

Commit<Result<void>> EmbeddedStore::record_token_uses(std::span<const std::pair<TokenId, Time>> uses) {
  if (uses.empty()) return Commit<Result<void>>::ready({});
  std::vector<std::pair<TokenId, Time>> copy(uses.begin(), uses.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes, [uses = std::move(copy)](Database& database) -> Result<void> {
    for (const auto& [id, at] : uses) {
      database.run("UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), $1) WHERE id = $2", at, id);
    }
    return {};
  });
}

}  // namespace restante::sqlite
