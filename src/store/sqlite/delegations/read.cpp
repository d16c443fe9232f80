#include <map>

#include "model/errors.h"
#include "store/delegation_rows.h"
#include "store/sqlite/delegations/delegation_rows.h"
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

CalleeQueue queue_of(Database& database, WorkspaceId callee) {
  CalleeQueue queue;
  Statement row = database.query(
      "SELECT created_at, delegation_id FROM delegations WHERE callee_id = ? AND status IN ('queued', 'dispatched', "
      "'in_progress') ORDER BY created_at, delegation_id",
      callee);
  while (row.step()) queue.add(row.time(0), row.text(1));
  return queue;
}

// Read from an index that contains task_files: the row in the table also has the task, up to a megabyte.
std::string missing_file(Database& database, const Delegation& task) {
  std::string files;
  {
    Statement row = database.query(
        "SELECT task_files FROM delegation_texts INDEXED BY idx_delegation_texts_files WHERE delegation_id = ? AND "
        "task_files IS NOT NULL",
        task.id);
    if (!row.step()) return {};
    files = row.text(0);
  }
  for (const FileId& id : staged_files(files, task.callee_id)) {
    Statement row = database.query("SELECT filename FROM pending_uploads WHERE file_id = ? AND acked_at IS NULL", id);
    if (row.step()) return row.text(0);
  }
  return {};
}

}  // namespace

Result<Delegation> EmbeddedStore::find_delegation(const std::string& id) {
  require_uploads();
  return find_delegation_row(*readers_.take(), id);
}

Result<DelegationRecord> EmbeddedStore::read_delegation(const std::string& id) {
  require_uploads();
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
  require_uploads();
  auto reader = readers_.take();
  const int limit = std::max(filter.limit, 0);
  if (!filter.workspace) return delegations_of(reader->query(select_delegations(filter, '?'), limit));
  const auto one_way = [&](DelegationFilter::Direction direction) {
    DelegationFilter way = filter;
    way.direction = direction;
    if (!filter.peer) return delegations_of(reader->query(select_delegations(way, '?'), limit, *filter.workspace));
    return delegations_of(reader->query(select_delegations(way, '?'), limit, *filter.workspace, *filter.peer));
  };
  if (filter.direction != DelegationFilter::Direction::any) return one_way(filter.direction);
  auto sent = one_way(DelegationFilter::Direction::sent);
  return merge_newest(std::move(sent), one_way(DelegationFilter::Direction::received), limit);
}

DelegationStats EmbeddedStore::delegation_stats() {
  require_uploads();
  auto reader = readers_.take();
  DelegationStats stats;
  Statement row = reader->query("SELECT status, sum(number) FROM delegation_counts GROUP BY status");
  while (row.step()) stats.of(delegation_status_of(row.view(0))) = row.integer(1);
  return stats;
}

std::vector<DelegationWait> EmbeddedStore::delegation_waits(std::span<const Delegation> of) {
  require_uploads();
  auto reader = readers_.take();
  std::map<WorkspaceId, CalleeQueue> queues;
  std::vector<DelegationWait> waits;
  for (const Delegation& task : of) {
    DelegationWait& wait = waits.emplace_back();
    if (!task.in_flight()) continue;
    const auto [queue, fresh] = queues.try_emplace(task.callee_id);
    if (fresh) queue->second = queue_of(*reader, task.callee_id);
    wait.ahead = queue->second.ahead_of(task);
    wait.missing_file = missing_file(*reader, task);
  }
  return waits;
}

}  // namespace restante::sqlite
