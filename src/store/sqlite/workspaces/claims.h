// Idempotency claims inside the writer's transaction: an effect and its claim commit together. For the writer's thread;
// find_claim() also works on a reader's connection.
#pragma once
#include <optional>
#include <string>

#include "base/error.h"
#include "store/claims.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

// The answer that was kept under this claim, if it was used and has not expired. idempotency_mismatch.
Result<std::optional<std::string>> find_claim(Database& database, const Claim& claim, Time now);
void keep_claim(Database& database, const Claim& claim, const std::string& answer);

}  // namespace restante::sqlite
