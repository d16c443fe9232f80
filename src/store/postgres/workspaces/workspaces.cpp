#include <algorithm>
#include <map>

#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

// The newest poll of each workspace and its gap, without the acks.
std::map<WorkspaceId, PollRecord> merged(std::span<const PollRecord> polls) {
  std::map<WorkspaceId, PollRecord> all;
  for (const PollRecord& poll : polls) {
    PollRecord& one = all.try_emplace(poll.id, poll).first->second;
    one.at = std::max(one.at, poll.at);
    if (poll.usual_gap) one.usual_gap = poll.usual_gap;
  }
  return all;
}

// Records are written late and in any order, so an older poll or cursor must not undo a newer one.
Result<void> record(Transaction& transaction, std::span<const PollRecord> polls) {
  Bulk signs(
      "UPDATE workspaces w SET last_poll_at = greatest(w.last_poll_at, u.at), usual_poll_gap = coalesce(u.gap, "
      "w.usual_poll_gap), status = CASE w.status WHEN 'degraded' THEN w.status ELSE 'online' END FROM unnest($1, $2, "
      "$3) AS u (id, at, gap) WHERE w.id = u.id AND w.status <> 'removed'",
      {Type::uuid, Type::timestamptz, Type::int8});
  for (const auto& [id, poll] : merged(polls)) {
    std::optional<std::int64_t> gap;
    if (poll.usual_gap) gap = poll.usual_gap->count();
    signs.add(id, poll.at, gap);
  }
  signs.send(transaction.connection());
  for (const PollRecord& poll : polls) {
    if (poll.acked_seq == 0 && !poll.acked_id) continue;
    transaction.run(
        "UPDATE inbox_heads SET acked_seq = greatest(acked_seq, least(last_seq, $1), (SELECT seq FROM activity_logs "
        "WHERE id = $2 AND workspace_id = $3)) WHERE workspace_id = $3",
        poll.acked_seq, poll.acked_id, poll.id);
  }
  transaction.changed();
  return {};
}

}  // namespace

Result<DeliveryMode> SharedStore::find_delivery(WorkspaceId id) {
  return read_cache_.find_delivery(id, [&] { return SqlStore::find_delivery(id); });
}

Commit<Result<void>> SharedStore::record_polls(std::span<const PollRecord> polls) {
  if (polls.empty()) return Commit<Result<void>>::ready({});
  std::vector<PollRecord> copy(polls.begin(), polls.end());
  WriteHints hints;
  for (const PollRecord& poll : copy) hints.heads.push_back(poll.id);
  hints.alone = true;
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return maintenance_lane_.submit(std::move(hints), bytes, [polls = std::move(copy)](Transaction& transaction) {
    return record(transaction, polls);
  });
}

}  // namespace restante::postgres
