#include "store/sql/delegation_rows.h"

namespace restante {

PrunableDelegations find_prunable_delegations(SqlReader& reader, Time before, std::int64_t limit) {
  PrunableDelegations prunable;
  for (const char* status : {"completed", "failed", "stuck"}) {
    reader.each(
        [&](const SqlRow& row) {
          prunable.ids.push_back(row.text(0));
          prunable.callees.push_back(row.id<WorkspaceId>(1));
          return true;
        },
        "SELECT delegation_id, callee_id FROM delegations WHERE status IN ('completed', 'failed', 'stuck') AND status "
        "= $1 AND finished_at < $2 ORDER BY finished_at LIMIT $3",
        status, before, limit - std::ssize(prunable.ids));
  }
  return prunable;
}

std::int64_t prune_delegations(SqlTransaction& transaction, std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    transaction.run("DELETE FROM delegation_steps WHERE delegation_id = $1", id);
    transaction.run("DELETE FROM delegation_texts WHERE delegation_id = $1", id);
  }
  std::int64_t pruned = 0;
  transaction.each_of(
      ids, [&](const std::string&, const SqlRow&) { ++pruned; },
      "DELETE FROM delegations WHERE delegation_id = $1 RETURNING 1");
  return pruned;
}

}  // namespace restante
