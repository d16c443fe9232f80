#include "store/sql/inbox.h"

#include <algorithm>

#include "model/errors.h"
#include "model/inbox_epoch.h"
#include "store/row_columns.h"
#include "store/sql/delegation_rows.h"
#include "store/sql/store.h"

namespace restante {
namespace {

constexpr std::int64_t kInboxesInAStep = 500;

// The first number whose next row is at or after a moment. created_at never decreases along seq, so it is found by
// bisection, without an index that every append would pay for. The steps together are 2^41, more than any number
// (model/inbox_epoch.h).
std::int64_t seq_at(SqlReader& reader, WorkspaceId workspace, Time moment) {
  return reader
      .find([](const SqlRow& row) { return row.integer(0); },
            "WITH RECURSIVE bisection (earlier, step) AS (SELECT CAST(0 AS bigint), CAST(1099511627776 AS bigint) "
            "UNION ALL SELECT CASE WHEN (SELECT a.created_at FROM activity_logs a WHERE a.workspace_id = $1 AND a.seq "
            ">= earlier + step ORDER BY a.seq LIMIT 1) < $2 THEN earlier + step ELSE earlier END, step / 2 FROM "
            "bisection WHERE step > 0) SELECT earlier + 1 FROM bisection WHERE step = 0",
            workspace, moment)
      .value();
}

// The seq after which the answer begins; 0 when there is no cursor.
Result<std::int64_t> cursor_of(SqlReader& reader, WorkspaceId workspace, const InboxQuery& query) {
  if (query.since_id) {
    const auto seq =
        reader.find([](const SqlRow& row) { return row.integer(0); }, kFindCursor, *query.since_id, workspace);
    if (!seq) return errors::cursor_gone;
    return *seq;
  }
  const std::int64_t seq = numbered_cursor(query);
  if (names_a_row(query) && !reader.has_row(kFindSeq, seq, workspace)) return errors::cursor_gone;
  return seq;
}

Result<Appended> append(SqlTransaction& transaction, WorkspaceId workspace, const Message& message, Time now) {
  const auto head = transaction.find_living_head(workspace);
  if (!head) return head.error();
  if (const auto repeated = transaction.find_repeated(workspace, message)) return *repeated;
  return transaction.append_message(workspace, SqlTransaction::next_time(**head, now), message);
}

// Deletes rows that may go, with their message keys. The keys are not touched when no row was deleted.
std::int64_t prune_inbox(SqlTransaction& transaction, WorkspaceId workspace, Time before, Time ceiling,
                         std::int64_t limit) {
  // Locks it, too.
  if (!transaction.head(workspace)) return 0;
  const std::int64_t end = seq_at(transaction, workspace, before);
  const std::int64_t deleted = transaction.change(
      "DELETE FROM activity_logs WHERE id IN (SELECT a.id FROM activity_logs a JOIN inbox_heads h ON h.workspace_id = "
      "a.workspace_id WHERE a.workspace_id = $1 AND a.seq < $2 AND (a.activity_type <> 'a2a_receive' OR a.seq <= "
      "h.acked_seq OR a.created_at < $3) ORDER BY a.seq LIMIT $4)",
      workspace, end, ceiling, limit);
  if (deleted > 0) {
    transaction.announce_pruned(workspace);
    transaction.run(
        "DELETE FROM message_keys WHERE workspace_id = $1 AND seq < $2 AND NOT EXISTS (SELECT 1 FROM activity_logs a "
        "WHERE a.workspace_id = message_keys.workspace_id AND a.seq = message_keys.seq)",
        workspace, end);
  }
  return deleted;
}

// The next inboxes, and which of them have a row that is old enough.
struct OldInboxes {
  std::vector<WorkspaceId> ids;  // in the order in which heads are locked
  std::optional<WorkspaceId> last;
  bool more = false;
};

OldInboxes find_old_inboxes(SqlReader& reader, Time before, std::optional<WorkspaceId> after) {
  OldInboxes found;
  std::int64_t looked = 0;
  reader.each(
      [&](const SqlRow& row) {
        found.last = row.id<WorkspaceId>(0);
        const auto oldest = row.optional_time(1);
        if (oldest && *oldest < before) found.ids.push_back(*found.last);
        ++looked;
        return true;
      },
      "SELECT h.workspace_id, (SELECT a.created_at FROM activity_logs a WHERE a.workspace_id = h.workspace_id ORDER BY "
      "a.seq LIMIT 1) FROM inbox_heads h WHERE h.workspace_id > $1 ORDER BY h.workspace_id LIMIT $2",
      after.value_or(WorkspaceId()), kInboxesInAStep);
  found.more = looked == kInboxesInAStep;
  return found;
}

// What belongs to no inbox. True when there may be more of it.
bool prune_claims_and_tokens(SqlTransaction& transaction, Time now, std::int64_t limit) {
  const std::int64_t claims = transaction.change(
      "DELETE FROM idempotency_keys WHERE scope IN (SELECT scope FROM idempotency_keys WHERE expires_at <= $1 ORDER BY "
      "expires_at LIMIT $2)",
      now, limit);
  const std::int64_t tokens = prune_tokens(transaction, now - kDeadTokensStay, limit);
  return claims >= limit || tokens >= limit;
}

Result<Pruned> prune_step(SqlTransaction& transaction, const OldInboxes& old, std::optional<WorkspaceId> after,
                          Time before, Time ceiling, Time now, std::int64_t limit, bool with_uploads) {
  transaction.prune_marks();
  if (with_uploads) transaction.merge_totals();
  PrunableDelegations prunable;
  if (with_uploads) prunable = find_prunable_delegations(transaction, before, limit);
  if (!prunable.ids.empty()) {
    std::vector<WorkspaceId> heads = old.ids;
    heads.insert(heads.end(), prunable.callees.begin(), prunable.callees.end());
    transaction.lock(std::move(heads));
  }
  std::int64_t deleted = 0;
  for (const auto& workspace : old.ids) {
    if (deleted >= limit) break;
    deleted += prune_inbox(transaction, workspace, before, ceiling, limit - deleted);
  }
  const bool inboxes_done = deleted < limit;
  if (with_uploads && deleted < limit) {
    deleted += transaction.change(
        "DELETE FROM finished_uploads WHERE file_id IN (SELECT file_id FROM finished_uploads WHERE ended_at < $1 "
        "ORDER BY ended_at LIMIT $2)",
        before, limit - deleted);
  }
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(limit - deleted, 0));
  deleted += prune_delegations(transaction, std::span(prunable.ids).first(std::min(room, prunable.ids.size())));
  Pruned pruned;
  pruned.rows = deleted;
  // After the heads: whoever writes anything of a workspace locks its head first.
  pruned.more = prune_claims_and_tokens(transaction, now, limit);
  // A step that reached its limit looks at the same inboxes again.
  pruned.after = inboxes_done ? old.last : after;
  pruned.more = pruned.more || deleted >= limit || old.more;
  if (inboxes_done && !old.more) pruned.after.reset();
  return pruned;
}

}  // namespace

std::int64_t numbered_cursor(const InboxQuery& query) {
  return query.above_seq ? *query.above_seq : query.since_seq.value_or(0);
}

bool names_a_row(const InboxQuery& query) { return !query.above_seq && query.since_seq.value_or(0) != 0; }

SeqRange range_of(SqlReader& reader, WorkspaceId workspace, const InboxQuery& query, std::int64_t cursor) {
  SeqRange range{cursor, query.below_seq.value_or(INT64_MAX)};
  if (query.not_before) range.after = std::max(range.after, seq_at(reader, workspace, *query.not_before) - 1);
  if (query.before) range.before = std::min(range.before, seq_at(reader, workspace, *query.before));
  return range;
}

std::string select_page(const InboxQuery& query, std::string_view cursor_condition) {
  std::string sql = "SELECT " + kInboxColumns + " FROM activity_logs WHERE workspace_id = $1 AND seq > $2 AND seq < $3";
  sql += cursor_condition;
  if (query.type == "chat_upload_receive") {
    sql += " AND method = $4";
  } else {
    sql += query.type.empty() ? " AND $4 = ''" : " AND activity_type = $4";
  }
  if (query.source == InboxQuery::Source::canvas) sql += " AND source_id IS NULL";
  if (query.source == InboxQuery::Source::agent) sql += " AND source_id IS NOT NULL";
  // The same rule as is_chat().
  if (query.chat_only) {
    sql +=
        " AND source_id IS NULL AND target_id = workspace_id AND (activity_type = 'upload_receipt' OR (activity_type = "
        "'a2a_send' AND method = 'message/send') OR (activity_type = 'a2a_receive' AND method IN ('message/send', "
        "'notify', 'chat_upload_receive')))";
  }
  if (query.no_receipts) sql += " AND activity_type <> 'upload_receipt'";
  sql += query.peer ? " AND (source_id = $5 OR target_id = $5)" : " AND $5 IS NULL";
  sql += query.ascends() ? " ORDER BY seq" : " ORDER BY seq DESC";
  return sql + " LIMIT $6";
}

std::string select_window(const InboxQuery& query, std::string_view most, std::string_view cursor_condition) {
  std::string sql = "SELECT seq FROM activity_logs WHERE workspace_id = $1 AND seq > $2 AND seq < $3";
  sql += cursor_condition;
  sql += query.ascends() ? " ORDER BY seq LIMIT " : " ORDER BY seq DESC LIMIT ";
  return sql.append(most);
}

std::string select_window_size(const InboxQuery& query, std::string_view most, std::string_view cursor_condition) {
  return "SELECT min(seq), max(seq), count(*) FROM (" + select_window(query, most, cursor_condition) + ") AS seen";
}

InboxStep step_of(const SqlRow& window, const InboxQuery& query, SeqRange range, int most) {
  InboxStep step;
  if (window.integer(2) == 0) return step;
  // Rows may be appended after the newest one, but none before it.
  step.from = query.ascends() ? range.after : query.below_seq ? range.before : window.integer(1) + 1;
  step.to = window.integer(query.ascends() ? 1 : 0);
  step.more = window.integer(2) >= most;
  return step;
}

bool InboxPage::add(const SqlRow& row) {
  InboxRow found = inbox_row_of(row, workspace_);
  bytes_ += found.request_body.size() + found.response_body.size();
  if (!rows.empty() && bytes_ > max_bytes_) return false;
  rows.push_back(std::move(found));
  return true;
}

Commit<Result<Appended>> SqlStore::append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                                   OptionalClaim<Appended> claim) {
  Message message(row, workspace, {}, now);
  const std::size_t bytes = message.bytes();
  WriteHints hints = hints_for(workspace);
  if (message.digest) hints.message.emplace(workspace, *message.digest);
  hints.claim = scope_of(claim);
  return write(
      std::move(hints), bytes,
      under_claim(std::move(claim), now, [message = std::move(message), workspace, now](SqlTransaction& transaction) {
        return append(transaction, workspace, message, now);
      }));
}

Commit<Result<std::int64_t>> SqlStore::ack_inbox(WorkspaceId workspace, std::int64_t seq) {
  return write(hints_for(workspace), sizeof seq, [workspace, seq](SqlTransaction& transaction) -> Result<std::int64_t> {
    const auto head = transaction.find_head(workspace);
    if (!head) return head.error();
    const std::int64_t acked = std::min(seq, (*head)->last_seq);
    if (acked > (*head)->acked_seq) transaction.set_acked(workspace, acked);
    return (*head)->acked_seq;
  });
}

Result<InboxHead> SqlStore::find_head(WorkspaceId workspace) {
  const auto found = read([&](SqlReader& reader) {
    return reader.find([](const SqlRow& row) { return InboxHead{row.integer(0), row.integer(1), row.time(2)}; },
                       "SELECT last_seq, acked_seq, last_created_at FROM inbox_heads WHERE workspace_id = $1",
                       workspace);
  });
  if (!found) return errors::workspace_not_found;
  return *found;
}

Commit<Result<Pruned>> SqlStore::prune(Time before, Time ceiling, Time now, int limit,
                                       std::optional<WorkspaceId> after) {
  OldInboxes old = read([&](SqlReader& reader) { return find_old_inboxes(reader, before, after); });
  return write(maintenance_hints(), sizeof now,
               [=, old = std::move(old), with_uploads = uploads_ready()](SqlTransaction& transaction) {
                 return prune_step(transaction, old, after, before, ceiling, now, limit, with_uploads);
               });
}

Commit<Result<Epoch>> SqlStore::begin_epoch(Time now) {
  return write(maintenance_hints(), sizeof now, [now](SqlTransaction& transaction) -> Result<Epoch> {
    const auto largest = transaction.find([](const SqlRow& row) { return row.integer(0); },
                                          "SELECT coalesce(max(last_seq), 0) FROM inbox_heads");
    Epoch begun;
    begun.clock_is_behind = *largest > seq_of_epoch(now);
    begun.inboxes =
        transaction.change("UPDATE inbox_heads SET last_seq = CASE WHEN last_seq < $1 THEN $1 ELSE last_seq END",
                           seq_of_epoch(now, *largest));
    return begun;
  });
}

std::vector<FileId> SqlStore::find_named_files(WorkspaceId workspace, NamedBy by, const std::vector<FileId>& files) {
  // Without a file there is nothing to read, and no connection is taken.
  if (files.empty()) return {};
  return read([&](SqlReader& reader) {
    std::vector<FileId> named;
    for (const FileId& file : files) {
      // The join ignores a key whose row has been pruned.
      if (reader.has_row("SELECT 1 FROM message_keys k JOIN activity_logs a ON a.workspace_id = k.workspace_id AND "
                         "a.seq = k.seq WHERE k.workspace_id = $1 AND k.digest = $2",
                         workspace, named_key(by, file))) {
        named.push_back(file);
      }
    }
    return named;
  });
}

Result<std::vector<InboxRow>> SqlStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  return read([&](SqlReader& reader) -> Result<std::vector<InboxRow>> {
    const auto cursor = cursor_of(reader, workspace, query);
    if (!cursor) return cursor.error();
    const SeqRange range = range_of(reader, workspace, query, *cursor);
    InboxPage page(workspace, query);
    reader.each([&](const SqlRow& row) { return page.add(row); }, select_page(query), workspace, range.after,
                range.before, query.type, query.peer, std::max(query.limit, 0));
    return std::move(page.rows);
  });
}

Result<InboxStep> SqlStore::search_inbox(WorkspaceId workspace, const InboxQuery& query, int most) {
  return read([&](SqlReader& reader) -> Result<InboxStep> {
    const auto cursor = cursor_of(reader, workspace, query);
    if (!cursor) return cursor.error();
    SeqRange range = range_of(reader, workspace, query, *cursor);
    InboxStep step = reader
                         .find([&](const SqlRow& row) { return step_of(row, query, range, most); },
                               select_window_size(query, "$4"), workspace, range.after, range.before, most)
                         .value();
    if (!step.to) return step;
    if (query.ascends()) {
      range.before = *step.to + 1;
    } else {
      range.after = *step.to - 1;
    }
    InboxPage page(workspace, query);
    reader.each([&](const SqlRow& row) { return page.add(row); }, select_page(query), workspace, range.after,
                range.before, query.type, query.peer, std::max(query.limit, 0));
    step.rows = std::move(page.rows);
    return step;
  });
}

}  // namespace restante
