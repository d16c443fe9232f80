#include <map>
#include <set>

#include "model/errors.h"
#include "store/delegation_rows.h"
#include "store/postgres/delegations/delegation_rows.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

std::map<WorkspaceId, CalleeQueue> queues_of(Connection& connection, std::span<const Delegation> of) {
  std::set<WorkspaceId> callees;
  for (const Delegation& task : of) {
    if (task.in_flight()) callees.insert(task.callee_id);
  }
  std::map<WorkspaceId, CalleeQueue> queues;
  if (callees.empty()) return queues;
  Array ids(Type::uuid);
  for (const WorkspaceId& callee : callees) ids.add(callee);
  const auto rows = connection.query(
      "SELECT callee_id, created_at, delegation_id FROM delegations WHERE callee_id = ANY($1) AND status IN ('queued', "
      "'dispatched', 'in_progress') ORDER BY created_at, delegation_id COLLATE \"C\"",
      ids);
  for (const Row row : rows) queues[row.id<WorkspaceId>(0)].add(row.time(1), row.text(2));
  return queues;
}

// For each delegation, its first file that was not acked.
std::map<std::string, std::string> missing_files(Connection& connection, std::span<const Delegation> of) {
  std::map<std::string, WorkspaceId> callees;
  Array tasks(Type::text);
  for (const Delegation& task : of) {
    if (!task.in_flight() || !callees.emplace(task.id, task.callee_id).second) continue;
    tasks.add(task.id);
  }
  std::map<std::string, std::string> missing;
  if (tasks.empty()) return missing;
  std::vector<std::pair<std::string, FileId>> named;
  Array ids(Type::uuid);
  for (const Row row : connection.query("SELECT delegation_id, task_files FROM delegation_texts WHERE delegation_id = "
                                        "ANY($1) AND task_files IS NOT NULL",
                                        tasks)) {
    for (const FileId& id : staged_files(row.text(1), callees.at(row.text(0)))) {
      named.emplace_back(row.text(0), id);
      ids.add(id);
    }
  }
  if (ids.empty()) return missing;
  std::map<FileId, std::string> unacked;
  for (const Row row : connection.query(
           "SELECT file_id, filename FROM pending_uploads WHERE file_id = ANY($1) AND acked_at IS NULL", ids)) {
    unacked.emplace(row.id<FileId>(0), row.text(1));
  }
  for (const auto& [task, id] : named) {
    if (const auto file = unacked.find(id); file != unacked.end()) missing.emplace(task, file->second);
  }
  return missing;
}

}  // namespace

Result<Delegation> SharedStore::find_delegation(const std::string& id) {
  require_uploads();
  return pool_.use([&](Connection& connection) { return find_delegation_row(connection, id); });
}

Result<DelegationRecord> SharedStore::read_delegation(const std::string& id) {
  require_uploads();
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
  require_uploads();
  const int limit = std::max(filter.limit, 0);
  return pool_.use([&](Connection& connection) {
    if (!filter.workspace) return delegations_of(connection.query(select_delegations(filter, '$'), limit));
    const auto one_way = [&](DelegationFilter::Direction direction) {
      DelegationFilter way = filter;
      way.direction = direction;
      const std::string sql = select_delegations(way, '$');
      if (!filter.peer) return delegations_of(connection.query(sql, limit, *filter.workspace));
      return delegations_of(connection.query(sql, limit, *filter.workspace, *filter.peer));
    };
    if (filter.direction != DelegationFilter::Direction::any) return one_way(filter.direction);
    auto sent = one_way(DelegationFilter::Direction::sent);
    return merge_newest(std::move(sent), one_way(DelegationFilter::Direction::received), limit);
  });
}

DelegationStats SharedStore::delegation_stats() {
  require_uploads();
  return pool_.use([&](Connection& connection) {
    DelegationStats stats;
    const auto rows = connection.query("SELECT status, sum(number)::bigint FROM delegation_counts GROUP BY status");
    for (const Row row : rows) stats.of(delegation_status_of(row.view(0))) = row.integer(1);
    return stats;
  });
}

std::vector<DelegationWait> SharedStore::delegation_waits(std::span<const Delegation> of) {
  require_uploads();
  return pool_.use([&](Connection& connection) {
    const auto queues = queues_of(connection, of);
    const auto missing = missing_files(connection, of);
    std::vector<DelegationWait> waits;
    for (const Delegation& task : of) {
      DelegationWait& wait = waits.emplace_back();
      if (!task.in_flight()) continue;
      if (const auto queue = queues.find(task.callee_id); queue != queues.end()) {
        wait.ahead = queue->second.ahead_of(task);
      }
      if (const auto file = missing.find(task.id); file != missing.end()) wait.missing_file = file->second;
    }
    return waits;
  });
}

}  // namespace restante::postgres
