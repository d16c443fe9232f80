#include <algorithm>
#include <map>
#include <tuple>

#include "base/json.h"
#include "model/errors.h"
#include "model/file_part.h"
#include "model/upload.h"
#include "store/sql/delegation_rows.h"
#include "store/sql/store.h"

namespace restante {
namespace {

// One row for each step. One statement, so that the steps fit the state. The texts, up to a megabyte, come with the
// first step only.
const std::string kSelectRecord =
    "SELECT d.*, s.at, s.status, s.made_by, s.late, s.note, t.task, t.task_files, t.result, t.result_files, "
    "t.late_answer, t.late_files FROM (" +
    kSelectDelegations +
    "WHERE delegation_id = $1) AS d LEFT JOIN delegation_steps s ON s.delegation_id = d.delegation_id LEFT JOIN "
    "delegation_texts t ON t.delegation_id = d.delegation_id AND coalesce(s.number, 1) = 1 ORDER BY s.number";

DelegationStep step_of(const SqlRow& row) {
  constexpr int at = kDelegationColumnCount;
  return {row.time(at), delegation_status_of(row.view(at + 1)),
          parse_delegation_actor(row.view(at + 2)).value_or(DelegationActor::platform), row.integer(at + 3) != 0,
          row.text(at + 4)};
}

DelegationRecord record_of(const SqlRow& row) {
  DelegationRecord record;
  record.delegation = delegation_of(row);
  int at = kDelegationColumnCount + 5;
  record.task = row.text(at++);
  record.task_files = row.text(at++);
  record.result = row.text(at++);
  record.result_files = row.text(at++);
  record.late_answer = row.text(at++);
  record.late_files = row.text(at++);
  return record;
}

// Merges the sent and the received delegations of a workspace.
std::vector<Delegation> merge_newest(std::vector<Delegation> sent, std::vector<Delegation> received, int limit) {
  sent.insert(sent.end(), std::make_move_iterator(received.begin()), std::make_move_iterator(received.end()));
  std::ranges::sort(sent, std::greater{}, [](const Delegation& one) { return std::tie(one.created_at, one.id); });
  if (std::ssize(sent) > limit) sent.resize(static_cast<std::size_t>(limit));
  return sent;
}

// The running tasks of receiving agents, oldest first.
using Queue = std::vector<std::pair<Time, std::string>>;

std::map<WorkspaceId, Queue> queues_of(SqlReader& reader, std::span<const Delegation> running) {
  std::map<WorkspaceId, Queue> queues;
  for (const Delegation& task : running) queues.try_emplace(task.callee_id);
  std::vector<WorkspaceId> callees;
  for (const auto& [callee, queue] : queues) callees.push_back(callee);
  reader.each_of(
      callees, [&](WorkspaceId callee, const SqlRow& row) { queues[callee].emplace_back(row.time(0), row.text(1)); },
      "SELECT created_at, delegation_id FROM delegations WHERE callee_id = $1 AND status IN ('queued', 'dispatched', "
      "'in_progress')");
  for (auto& [callee, queue] : queues) std::ranges::sort(queue);
  return queues;
}

// The files of a task that were staged for its receiving agent. `files` is the JSON list that is stored with the task.
std::vector<FileId> staged_files(const std::string& files, WorkspaceId callee) {
  std::vector<FileId> ids;
  const auto list = parse_json(files);
  if (!list || !list->if_array()) return ids;
  for (const Json& file : *list->if_array()) {
    if (const auto id = file_of(read_file_part(file).uri, callee)) ids.push_back(*id);
  }
  return ids;
}

struct UnackedFile {
  std::string name;
  WorkspaceId workspace;
  std::optional<WorkspaceId> source;
};

// For each of these tasks, by its id, its first file that was not acked. Only files that came with the task: its caller
// may name any id, and must not learn the names of other files.
std::map<std::string, std::string> missing_files(SqlReader& reader, std::span<const Delegation> running) {
  std::map<std::string, const Delegation*> by_id;
  for (const Delegation& task : running) by_id.try_emplace(task.id, &task);
  std::vector<std::string> tasks;
  for (const auto& [id, task] : by_id) tasks.push_back(id);
  std::vector<std::string> named_by;
  std::vector<FileId> named;
  // SQLite reads an index that contains task_files: the row in the table also has the task, up to a megabyte.
  const std::string sql = "SELECT task_files FROM delegation_texts " +
                          reader.dialect().indexed_by("idx_delegation_texts_files") +
                          "WHERE delegation_id = $1 AND task_files IS NOT NULL";
  reader.each_of(
      tasks,
      [&](const std::string& task, const SqlRow& row) {
        for (const FileId& id : staged_files(row.text(0), by_id.at(task)->callee_id)) {
          named_by.push_back(task);
          named.push_back(id);
        }
      },
      sql);
  std::map<FileId, UnackedFile> unacked;
  reader.each_of(
      named,
      [&](FileId id, const SqlRow& row) {
        unacked.emplace(id, UnackedFile{row.text(0), row.id<WorkspaceId>(1), row.optional_id<WorkspaceId>(2)});
      },
      "SELECT filename, workspace_id, source_id FROM pending_uploads WHERE file_id = $1 AND acked_at IS NULL");
  std::map<std::string, std::string> missing;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Delegation& task = *by_id.at(named_by[i]);
    const auto file = unacked.find(named[i]);
    if (file == unacked.end()) continue;
    const bool came_with_it = file->second.workspace == task.callee_id && file->second.source == task.caller_id;
    if (came_with_it) missing.emplace(task.id, file->second.name);
  }
  return missing;
}

}  // namespace

Result<Delegation> SqlStore::find_delegation(const std::string& id) {
  require_uploads();
  return read([&](SqlReader& reader) { return find_delegation_row(reader, id); });
}

Result<DelegationRecord> SqlStore::read_delegation(const std::string& id) {
  require_uploads();
  return read([&](SqlReader& reader) -> Result<DelegationRecord> {
    std::optional<DelegationRecord> record;
    reader.each(
        [&](const SqlRow& row) {
          if (!record) record = record_of(row);
          if (!row.is_null(kDelegationColumnCount)) record->history.push_back(step_of(row));
          return true;
        },
        kSelectRecord, id);
    if (!record) return errors::delegation_not_found;
    return std::move(*record);
  });
}

std::vector<Delegation> SqlStore::list_delegations(const DelegationFilter& filter) {
  require_uploads();
  const int limit = std::max(filter.limit, 0);
  return read([&](SqlReader& reader) {
    if (!filter.workspace) return reader.select(delegation_of, select_delegations(filter), limit);
    const auto one_way = [&](DelegationFilter::Direction direction) {
      DelegationFilter way = filter;
      way.direction = direction;
      const std::string sql = select_delegations(way);
      if (!filter.peer) return reader.select(delegation_of, sql, limit, *filter.workspace);
      return reader.select(delegation_of, sql, limit, *filter.workspace, *filter.peer);
    };
    if (filter.direction != DelegationFilter::Direction::any) return one_way(filter.direction);
    auto sent = one_way(DelegationFilter::Direction::sent);
    return merge_newest(std::move(sent), one_way(DelegationFilter::Direction::received), limit);
  });
}

DelegationStats SqlStore::delegation_stats() {
  require_uploads();
  return read([](SqlReader& reader) {
    DelegationStats stats;
    reader.each(
        [&](const SqlRow& row) {
          stats.of(delegation_status_of(row.view(0))) = row.integer(1);
          return true;
        },
        "SELECT status, CAST(sum(number) AS bigint) FROM delegation_totals GROUP BY status");
    return stats;
  });
}

std::vector<WorkspaceId> SqlStore::callees_with_acked_tasks() {
  require_uploads();
  return read([](SqlReader& reader) {
    return reader.select([](const SqlRow& row) { return row.id<WorkspaceId>(0); },
                         "SELECT DISTINCT d.callee_id FROM delegations d JOIN inbox_heads h ON h.workspace_id = "
                         "d.callee_id WHERE d.status = 'queued' AND d.inbox_seq <= h.acked_seq");
  });
}

std::vector<DelegationWait> SqlStore::delegation_waits(std::span<const Delegation> of) {
  require_uploads();
  std::vector<Delegation> running;
  std::ranges::copy_if(of, std::back_inserter(running), &Delegation::in_flight);
  return read([&](SqlReader& reader) {
    const auto queues = queues_of(reader, running);
    const auto missing = missing_files(reader, running);
    std::vector<DelegationWait> waits;
    for (const Delegation& task : of) {
      DelegationWait& wait = waits.emplace_back();
      if (!task.in_flight()) continue;
      const Queue& queue = queues.at(task.callee_id);
      wait.ahead = std::ranges::lower_bound(queue, std::pair(task.created_at, task.id)) - queue.begin();
      if (const auto file = missing.find(task.id); file != missing.end()) wait.missing_file = file->second;
    }
    return waits;
  });
}

}  // namespace restante
