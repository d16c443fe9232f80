#include "model/errors.h"
#include "store/delegation_rows.h"
#include "store/postgres/delegation_rows.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {

Result<Delegation> SharedStore::find_delegation(const std::string& id) {
  require_delegations();
  return pool_.use([&](Connection& connection) { return find_delegation_row(connection, id); });
}

Result<DelegationRecord> SharedStore::read_delegation(const std::string& id) {
  require_delegations();
  return pool_.use([&](Connection& connection) -> Result<DelegationRecord> {
    auto found = find_delegation_row(connection, id);
    if (!found) return found.error();
    DelegationRecord record;
    record.delegation = std::move(*found);
    connection.send(
        "SELECT task, task_files, result, result_files, late_answer, late_files FROM delegation_texts WHERE "
        "delegation_id = $1",
        id);
    connection.send(
        "SELECT at, status, made_by, late, note FROM delegation_steps WHERE delegation_id = $1 ORDER BY number", id);
    const auto answers = connection.sync();
    for (const Row row : answers[answers.size() - 2]) {
      record.task = row.text(0);
      record.task_files = row.text(1);
      record.result = row.text(2);
      record.result_files = row.text(3);
      record.late_answer = row.text(4);
      record.late_files = row.text(5);
    }
    for (const Row row : answers.back()) record.history.push_back(delegation_step_of(row));
    return record;
  });
}

std::vector<Delegation> SharedStore::list_delegations(const DelegationFilter& filter) {
  require_delegations();
  const int limit = std::max(filter.limit, 0);
  return pool_.use([&](Connection& connection) {
    if (!filter.workspace) return delegations_of(connection.query(select_delegations(filter, '$'), limit));
    const auto one_way = [&](DelegationFilter::Direction direction) {
      DelegationFilter way = filter;
      way.direction = direction;
      return delegations_of(connection.query(select_delegations(way, '$'), *filter.workspace, limit));
    };
    if (filter.direction != DelegationFilter::Direction::any) return one_way(filter.direction);
    auto sent = one_way(DelegationFilter::Direction::sent);
    return merge_newest(std::move(sent), one_way(DelegationFilter::Direction::received), limit);
  });
}

DelegationStats SharedStore::delegation_stats() {
  require_delegations();
  return pool_.use([&](Connection& connection) {
    DelegationStats stats;
    for (const std::string_view part : {kInFlight, kEnded}) {
      const auto rows =
          connection.query("SELECT status, count(*) FROM delegations WHERE " + std::string(part) + " GROUP BY status");
      for (const Row row : rows) stats.of(delegation_status_of(row.view(0))) = row.integer(1);
    }
    return stats;
  });
}

std::int64_t SharedStore::delegations_ahead(const Delegation& of) {
  require_delegations();
  return pool_.use([&](Connection& connection) {
    return connection
        .query(
            "SELECT count(*) FROM delegations WHERE callee_id = $1 AND status IN ('queued', 'dispatched', "
            "'in_progress') AND (created_at < $2 OR (created_at = $2 AND delegation_id < $3))",
            of.callee_id, of.created_at, of.id)
        .front()
        .integer(0);
  });
}

}  // namespace restante::postgres
