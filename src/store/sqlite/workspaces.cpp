// Polls and uses of tokens are recorded many at a time, in the way that is cheapest for this database.
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

// Polls are written late and in any order, so an older poll or cursor must not replace a newer one.
void record_poll(Database& database, const PollRecord& poll, bool silences) {
  std::optional<std::int64_t> gap;
  if (poll.usual_gap) gap = poll.usual_gap->count();
  database.run(
      "UPDATE workspaces SET last_poll_at = max(coalesce(last_poll_at, 0), $1), usual_poll_gap = coalesce($2, "
      "usual_poll_gap), status = CASE status WHEN 'degraded' THEN status ELSE 'online' END "
      "WHERE id = $3 AND status <> 'removed'",
      poll.at, gap, poll.id);
  if (silences) {
    database.run("UPDATE workspaces SET silent_since = NULL WHERE id = $1 AND silent_since IS NOT NULL", poll.id);
  }
  if (poll.acked_seq == 0 && !poll.acked_id) return;
  database.run(
      "UPDATE inbox_heads SET acked_seq = max(acked_seq, min(last_seq, $1), coalesce("
      "(SELECT seq FROM activity_logs WHERE id = $2 AND workspace_id = $3), 0)) WHERE workspace_id = $3",
      poll.acked_seq, poll.acked_id, poll.id);
}

}  // namespace

Commit<Result<void>> EmbeddedStore::record_polls(std::span<const PollRecord> polls) {
  if (polls.empty()) return Commit<Result<void>>::ready({});
  std::vector<PollRecord> copy(polls.begin(), polls.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes,
                        [polls = std::move(copy), silences = uploads_ready_](Database& database) -> Result<void> {
                          for (const PollRecord& poll : polls) record_poll(database, poll, silences);
                          return {};
                        });
}

Commit<Result<void>> EmbeddedStore::record_token_uses(std::span<const std::pair<TokenId, Time>> uses) {
  if (uses.empty()) return Commit<Result<void>>::ready({});
  std::vector<std::pair<TokenId, Time>> copy(uses.begin(), uses.end());
  const std::size_t bytes = copy.size() * sizeof copy.front();
  return writer_.submit(bytes, [uses = std::move(copy)](Database& database) -> Result<void> {
    for (const auto& [id, at] : uses) {
      database.run("UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), $1) WHERE id = $2", at, id);
    }
    return {};
  });
}

}  // namespace restante::sqlite
