#include "store/delegation_rows.h"

#include <algorithm>

#include "base/json.h"
#include "model/file_part.h"
#include "model/upload.h"

namespace restante {

// The conditions are written exactly as in the partial indexes, else the indexes would not be used.
std::string select_delegations(const DelegationFilter& filter, char placeholder) {
  const auto parameter = [placeholder](char number) { return std::string{placeholder, number}; };
  std::string sql = kSelectDelegations + "WHERE ";
  std::string order = "created_at DESC, delegation_id DESC";
  if (filter.workspace) {
    const bool sent = filter.direction != DelegationFilter::Direction::received;
    sql += (sent ? "caller_id = " : "callee_id = ") + parameter('2') + " AND ";
    if (filter.peer) sql += (sent ? "callee_id = " : "caller_id = ") + parameter('3') + " AND ";
    if (filter.in_flight) sql += std::string(kInFlight) + " AND ";
  } else {
    const bool ended = filter.status && is_final(*filter.status);
    if (ended) order = "finished_at DESC, delegation_id DESC";
    if (!ended && (filter.in_flight || filter.status)) {
      sql += std::string(kInFlight) + " AND ";
      // The least time left comes first.
      order = "deadline, delegation_id";
    }
  }
  sql += filter.status ? "status = '" + std::string(name_of(*filter.status)) + "' " : "true ";
  return sql + "ORDER BY " + order + " LIMIT " + parameter('1');
}

std::string overdue_condition(char placeholder) {
  const std::string p(1, placeholder);
  return "WHERE " + std::string(kInFlight) + " AND deadline <= " + p + "1 ORDER BY deadline LIMIT " + p + "2";
}

std::string silent_condition(char placeholder) {
  const std::string p(1, placeholder);
  return "WHERE " + std::string(kInFlight) + " AND status IN ('dispatched', 'in_progress') AND last_heartbeat < " + p +
         "1 ORDER BY last_heartbeat LIMIT " + p + "2";
}

std::int64_t CalleeQueue::ahead_of(const Delegation& task) const {
  return std::ranges::lower_bound(tasks_, std::pair(task.created_at, task.id)) - tasks_.begin();
}

std::vector<FileId> staged_files(const std::string& files, WorkspaceId callee) {
  std::vector<FileId> ids;
  const auto list = parse_json(files);
  if (!list || !list->if_array()) return ids;
  for (const Json& file : *list->if_array()) {
    if (const auto id = file_of(read_file_part(file).uri, callee)) ids.push_back(*id);
  }
  return ids;
}

std::vector<Delegation> merge_newest(std::vector<Delegation> sent, std::vector<Delegation> received, int limit) {
  sent.insert(sent.end(), std::make_move_iterator(received.begin()), std::make_move_iterator(received.end()));
  std::ranges::sort(sent, std::greater{}, [](const Delegation& one) { return std::tie(one.created_at, one.id); });
  if (std::ssize(sent) > limit) sent.resize(static_cast<std::size_t>(std::max(limit, 0)));
  return sent;
}

}  // namespace restante
