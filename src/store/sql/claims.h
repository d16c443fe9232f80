// Reads the answers that are kept under claims, on any connection.
#pragma once
#include <optional>
#include <string>

#include "base/error.h"
#include "model/idempotency.h"
#include "store/sql/reader.h"

namespace restante {

// Nothing when the claim is unused or has expired. idempotency_mismatch.
Result<std::optional<std::string>> find_kept_answer(SqlReader& reader, const Claim& claim, Time now);

}  // namespace restante
