#include "model/errors.h"
#include "store/delegation_rows.h"
#include "store/sqlite/delegation_rows.h"
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {

Result<Delegation> EmbeddedStore::find_delegation(const std::string& id) {
  require_delegations();
  return find_delegation_row(*readers_.take(), id);
}

Result<DelegationRecord> EmbeddedStore::read_delegation(const std::string& id) {
  require_delegations();
  auto reader = readers_.take();
  auto found = find_delegation_row(*reader, id);
  if (!found) return found.error();
  DelegationRecord record;
  record.delegation = std::move(*found);
  Statement texts = reader->query(
      "SELECT task, task_files, result, result_files, late_answer, late_files FROM delegation_texts WHERE "
      "delegation_id = ?",
      id);
  if (texts.step()) {
    record.task = texts.text(0);
    record.task_files = texts.text(1);
    record.result = texts.text(2);
    record.result_files = texts.text(3);
    record.late_answer = texts.text(4);
    record.late_files = texts.text(5);
  }
  Statement steps = reader->query(
      "SELECT at, status, made_by, late, note FROM delegation_steps WHERE delegation_id = ? ORDER BY number", id);
  while (steps.step()) record.history.push_back(delegation_step_of(steps));
  return record;
}

std::vector<Delegation> EmbeddedStore::list_delegations(const DelegationFilter& filter) {
  require_delegations();
  auto reader = readers_.take();
  const int limit = std::max(filter.limit, 0);
  if (!filter.workspace) return delegations_of(reader->query(select_delegations(filter, '?'), limit));
  const auto one_way = [&](DelegationFilter::Direction direction) {
    DelegationFilter way = filter;
    way.direction = direction;
    return delegations_of(reader->query(select_delegations(way, '?'), *filter.workspace, limit));
  };
  if (filter.direction != DelegationFilter::Direction::any) return one_way(filter.direction);
  auto sent = one_way(DelegationFilter::Direction::sent);
  return merge_newest(std::move(sent), one_way(DelegationFilter::Direction::received), limit);
}

DelegationStats EmbeddedStore::delegation_stats() {
  require_delegations();
  auto reader = readers_.take();
  DelegationStats stats;
  for (const char* part :
       {"status IN ('queued', 'dispatched', 'in_progress')", "status IN ('completed', 'failed', 'stuck')"}) {
    Statement row =
        reader->query("SELECT status, count(*) FROM delegations WHERE " + std::string(part) + " GROUP BY status");
    while (row.step()) stats.of(delegation_status_of(row.view(0))) = row.integer(1);
  }
  return stats;
}

std::int64_t EmbeddedStore::delegations_ahead(const Delegation& of) {
  require_delegations();
  auto reader = readers_.take();
  Statement row = reader->query(
      "SELECT count(*) FROM delegations WHERE callee_id = ?1 AND status IN ('queued', 'dispatched', 'in_progress') AND "
      "(created_at < ?2 OR (created_at = ?2 AND delegation_id < ?3))",
      of.callee_id, of.created_at, of.id);
  return row.step() ? row.integer(0) : 0;
}

}  // namespace restante::sqlite
