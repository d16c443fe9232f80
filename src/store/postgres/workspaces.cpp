// Polls and uses of tokens are recorded many at a time, in the way that is cheapest for this database.
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
Result<void> record(Transaction& transaction, std::span<const PollRecord> polls, bool silences) {
  Bulk signs(
      "UPDATE workspaces w SET last_poll_at = greatest(w.last_poll_at, u.at), usual_poll_gap = coalesce(u.gap, "
      "w.usual_poll_gap), status = CASE w.status WHEN 'degraded' THEN w.status ELSE 'online' END FROM unnest($1, $2, "
      "$3) AS u (id, at, gap) WHERE w.id = u.id AND w.status <> 'removed'",
      {Type::uuid, Type::timestamptz, Type::int8});
  Array ids(Type::uuid);
  for (const auto& [id, poll] : merged(polls)) {
    ids.add(id);
    std::optional<std::int64_t> gap;
    if (poll.usual_gap) gap = poll.usual_gap->count();
    signs.add(id, poll.at, gap);
  }
  signs.send(transaction.connection());
  if (silences) {
    transaction.run("UPDATE workspaces SET silent_since = NULL WHERE id = ANY($1) AND silent_since IS NOT NULL", ids);
  }
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
  return maintenance_lane_.submit(std::move(hints), bytes,
                                  [polls = std::move(copy), silences = uploads_ready_](Transaction& transaction) {
                                    return record(transaction, polls, silences);
                                  });
}

Commit<Result<void>> SharedStore::record_token_uses(std::span<const std::pair<TokenId, Time>> uses) {
  if (uses.empty()) return Commit<Result<void>>::ready({});
  // One entry for each token: an UPDATE of many rows changes none twice.
  std::map<TokenId, Time> latest;
  for (const auto& [id, at] : uses) latest[id] = std::max(latest[id], at);
  const std::size_t bytes = latest.size() * sizeof uses.front();
  return maintenance_lane_.submit(
      {.alone = true}, bytes, [latest = std::move(latest)](Transaction& transaction) -> Result<void> {
        Array ids(Type::uuid);
        Array times(Type::timestamptz);
        for (const auto& [id, at] : latest) {
          ids.add(id);
          times.add(at);
        }
        transaction.run("SELECT 1 FROM tokens WHERE id = ANY($1) ORDER BY id FOR UPDATE", ids);
        transaction.run(
            "UPDATE tokens t SET last_used_at = greatest(t.last_used_at, u.at) FROM unnest($1, $2) AS u (id, at) WHERE "
            "t.id = u.id",
            ids, times);
        return {};
      });
}

}  // namespace restante::postgres
