#include <algorithm>

#include "model/errors.h"
#include "store/postgres/inbox/read.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

Result<Appended> append(Transaction& transaction, WorkspaceId workspace, const Message& message, Time now) {
  const auto head = transaction.find_living_head(workspace);
  if (!head) return head.error();
  if (const auto repeated = transaction.find_repeated(workspace, message)) return *repeated;
  return transaction.append_message(workspace, Transaction::next_time(**head, now), message);
}

WriteHints hints_of(WorkspaceId workspace, const Message& message) {
  WriteHints hints{.heads = {workspace}};
  if (message.digest) hints.message.emplace(workspace, *message.digest);
  return hints;
}

}  // namespace

Commit<Result<Appended>> SharedStore::append_to_inbox(WorkspaceId workspace, const NewInboxRow& activity, Time now,
                                                      OptionalClaim<Appended> claim) {
  Message message(activity, workspace, {}, now);
  const std::size_t bytes = message.bytes();
  WriteHints hints = hints_of(workspace, message);
  hints.claim = scope_of(claim);
  return lane_of(workspace).submit(
      std::move(hints), bytes,
      under_claim(std::move(claim), now, [message = std::move(message), workspace, now](Transaction& transaction) {
        return append(transaction, workspace, message, now);
      }));
}

Commit<Result<std::int64_t>> SharedStore::ack_inbox(WorkspaceId workspace, std::int64_t seq) {
  return lane_of(workspace).submit(
      {.heads = {workspace}}, sizeof seq, [workspace, seq](Transaction& transaction) -> Result<std::int64_t> {
        const auto updated = transaction.connection().query(
            "UPDATE inbox_heads SET acked_seq = greatest(acked_seq, least($1, last_seq)) WHERE workspace_id = $2 "
            "RETURNING acked_seq",
            seq, workspace);
        if (updated.empty()) return errors::workspace_not_found;
        transaction.changed();
        return updated.front().integer(0);
      });
}

Result<InboxHead> SharedStore::find_head(WorkspaceId workspace) {
  return pool_.use([&](Connection& connection) -> Result<InboxHead> {
    const auto found = connection.query(
        "SELECT last_seq, acked_seq, last_created_at FROM inbox_heads WHERE workspace_id = $1", workspace);
    if (found.empty()) return errors::workspace_not_found;
    const Row row = found.front();
    return InboxHead{row.integer(0), row.integer(1), row.time(2)};
  });
}

Result<std::vector<InboxRow>> SharedStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  return read_cache_.read_page(workspace, query, [&] {
    return pool_.use([&](Connection& connection) { return read_page(connection, workspace, query); });
  });
}

}  // namespace restante::postgres
