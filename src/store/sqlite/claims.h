// Idempotency claims inside the writer's transaction: an effect and its claim commit together. For the writer's thread;
// find_claim() also works on a reader's connection.
#pragma once
#include <optional>
#include <string>

#include "base/error.h"
#include "model/idempotency.h"
#include "store/sqlite/database.h"

namespace restante::sqlite {

// The answer that was kept under this claim, if it was used and has not expired. idempotency_mismatch.
Result<std::optional<std::string>> find_claim(Database& database, const Claim& claim, Time now);
void keep_claim(Database& database, const Claim& claim, const std::string& answer);

// Runs `effect` unless the claim was used before, and keeps the answer that `render` makes of its result.
template <class T, class Effect>
Result<Claimed<T>> once(Database& database, const Claim& claim, Time now, const Render<T>& render, Effect effect) {
  auto known = find_claim(database, claim, now);
  if (!known) return known.error();
  if (*known) return Claimed<T>{std::nullopt, std::move(**known)};
  Result<T> made = effect();
  if (!made) return made.error();
  keep_claim(database, claim, render(*made));
  return Claimed<T>{std::move(*made), {}};
}

}  // namespace restante::sqlite
