// Rows of delegations. Belongs to the thread of its reader or transaction. Throws Unavailable.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "store/sql/transaction.h"

namespace restante {

// The first delegations that ended before `before`. The heads of `callees` must be locked when they are deleted,
// because the counts are kept by receiving agent.
struct PrunableDelegations {
  std::vector<std::string> ids;
  std::vector<WorkspaceId> callees;
};
PrunableDelegations find_prunable_delegations(SqlReader& reader, Time before, std::int64_t limit);
// Returns how many were still there.
std::int64_t prune_delegations(SqlTransaction& transaction, std::span<const std::string> ids);

}  // namespace restante
