#include "store/sqlite/database/transaction.h"

#include "store/row_columns.h"
#include "store/sql/transaction.h"

namespace restante::sqlite {
namespace {

constexpr std::string_view kFindHead =
    "SELECT h.last_seq, h.last_created_at, h.staged_files, h.staged_bytes, h.fetched_files, h.fetched_bytes, "
    "h.failed_files, h.failed_bytes, h.acked_files, h.acked_bytes, h.outgoing_files, h.outgoing_bytes, "
    "w.status = 'removed', h.acked_seq FROM workspaces w JOIN inbox_heads h ON h.workspace_id = w.id WHERE w.id = $1";
constexpr std::string_view kUpdateHead =
    "UPDATE inbox_heads SET last_seq = $2, last_created_at = $3 WHERE workspace_id = $1";
constexpr std::string_view kUpdateCountedHead =
    "UPDATE inbox_heads SET last_seq = $2, last_created_at = $3, staged_files = $4, staged_bytes = $5, "
    "fetched_files = $6, fetched_bytes = $7, failed_files = $8, failed_bytes = $9, acked_files = $10, "
    "acked_bytes = $11, outgoing_files = $12, outgoing_bytes = $13 WHERE workspace_id = $1";
// The columns that the state of an upload decides.
constexpr std::string_view kRecount =
    "UPDATE inbox_heads SET fetched_files = fetched_files + $2, fetched_bytes = fetched_bytes + $3, "
    "failed_files = failed_files + $4, failed_bytes = failed_bytes + $5, acked_files = acked_files + $6, "
    "acked_bytes = acked_bytes + $7 WHERE workspace_id = $1";
constexpr std::string_view kInsertInboxRow =
    "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, source_id, target_id, method, summary, "
    "request_body, response_body, status, error_detail, duration_ms, created_at, message_id, traceparent) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
// The join ignores a key whose row has been pruned.
constexpr std::string_view kFindMessage =
    "SELECT a.id, a.seq FROM message_keys k JOIN activity_logs a ON a.workspace_id = k.workspace_id AND a.seq = "
    "k.seq WHERE k.workspace_id = $1 AND k.digest = $2";
constexpr std::string_view kInsertUpload =
    "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, content_row, size_bytes, filename, mimetype, "
    "sha256, direction, staged_by, source_id, created_at, expires_at, twin_key) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
constexpr std::string_view kKeepFinished =
    "INSERT OR REPLACE INTO finished_uploads "
    "(file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, "
    "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, outcome, ended_at) "
    "SELECT file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, "
    "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, $2, $3 "
    "FROM pending_uploads WHERE file_id = $1";
constexpr std::string_view kDropBlob =
    "INSERT OR IGNORE INTO dropped_blobs (blob_key, dropped_at) SELECT $1, $2 "
    "WHERE NOT EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = $1) "
    "AND NOT EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = $1)";

}  // namespace

void Transaction::flush() {
  for (auto& [id, known] : heads_) {
    if (!known || !known->appended) continue;
    const UploadTallies& of = known->uploads;
    if (known->counted) {
      run(kUpdateCountedHead, id, known->last_seq, known->last_created_at, of.staged.files, of.staged.bytes,
          of.fetched.files, of.fetched.bytes, of.failed.files, of.failed.bytes, of.acked.files, of.acked.bytes,
          of.outgoing.files, of.outgoing.bytes);
    } else {
      run(kUpdateHead, id, known->last_seq, known->last_created_at);
    }
    known->appended = known->counted = false;
  }
}

std::int64_t Transaction::change_values(std::string_view sql, std::span<const SqlValue> values) {
  database_.run_values(sql, values);
  return database_.last_changes();
}

const restante::Head* Transaction::head(WorkspaceId workspace) {
  const auto [known, unread] = heads_.try_emplace(workspace);
  if (unread) {
    const auto read = [](const SqlRow& row) {
      KnownHead head;
      head.last_seq = row.integer(0);
      head.last_created_at = row.time(1);
      head.uploads = tallies_of(row, 2);
      head.removed = row.boolean(12);
      head.acked_seq = row.integer(13);
      return head;
    };
    known->second = find(read, kFindHead, workspace);
  }
  return known->second ? &*known->second : nullptr;
}

void Transaction::make_head(WorkspaceId workspace) {
  run("INSERT INTO inbox_heads (workspace_id) VALUES ($1)", workspace);
  heads_[workspace] = KnownHead();
}

Transaction::KnownHead& Transaction::held(WorkspaceId workspace) {
  if (!head(workspace)) throw Unavailable("a workspace without its inbox");
  KnownHead& known = *heads_.at(workspace);
  known.appended = true;
  return known;
}

UploadTallies& Transaction::tallies(WorkspaceId workspace) {
  KnownHead& known = held(workspace);
  known.counted = true;
  return known.uploads;
}

// A verb that does not need the head, because it appends nothing, does not read it for this.
void Transaction::recount(const Upload& was, const Upload& is) {
  if (heads_.contains(is.workspace_id)) return SqlTransaction::recount(was, is);
  UploadTallies change;
  change.take(was);
  change.add(is);
  run(kRecount, is.workspace_id, change.fetched.files, change.fetched.bytes, change.failed.files, change.failed.bytes,
      change.acked.files, change.acked.bytes);
}

Appended Transaction::append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& row) {
  KnownHead& head = held(workspace);
  head.last_created_at = at;
  run(kInsertInboxRow, id, workspace, ++head.last_seq, row.activity_type, row.source_id, row.target_id, row.method,
      row.summary, or_null(row.request_body), or_null(row.response_body), row.status, or_null(row.error_detail),
      row.duration_ms, at, or_null(row.message_id), or_null(row.traceparent));
  return {id, head.last_seq, false};
}

Appended Transaction::append_message(WorkspaceId workspace, Time at, const Message& message) {
  const auto appended = append(workspace, at, message.id, message.activity);
  const auto keep_key = [&](const Digest& key) {
    run("INSERT OR REPLACE INTO message_keys (workspace_id, digest, seq, created_at) VALUES ($1, $2, $3, $4)",
        workspace, key, appended.seq, at);
  };
  if (message.digest) keep_key(*message.digest);
  for (const Digest& key : message.named) keep_key(key);
  return appended;
}

void Transaction::set_acked(WorkspaceId workspace, std::int64_t seq) {
  heads_.at(workspace).value().acked_seq = seq;
  run("UPDATE inbox_heads SET acked_seq = $2 WHERE workspace_id = $1", workspace, seq);
}

std::optional<Appended> Transaction::find_repeated(WorkspaceId workspace, const Message& message) {
  if (!message.digest) return std::nullopt;
  const auto read = [](const SqlRow& row) { return Appended{row.id<InboxRowId>(0), row.integer(1), true}; };
  return find(read, kFindMessage, workspace, *message.digest);
}

const Upload* Transaction::upload(FileId id) {
  static const std::string sql = kSelectUploads + "WHERE file_id = $1";
  const auto [known, unread] = uploads_.try_emplace(id);
  if (unread) known->second = find(upload_of, sql, id);
  return known->second ? &*known->second : nullptr;
}

void Transaction::insert(const Upload& upload, std::string_view content) {
  if (content.empty()) return insert_row(upload, std::nullopt);
  run("INSERT INTO upload_contents (content) VALUES ($1)", Bytes{content});
  insert_row(upload, database_.last_row());
}

void Transaction::insert_copy(const Upload& upload, const Upload& source) {
  const bool copied = source.in_row() && change(
                                             "INSERT INTO upload_contents (content) SELECT content FROM "
                                             "upload_contents WHERE id = (SELECT content_row FROM pending_uploads "
                                             "WHERE file_id = $1)",
                                             source.id) > 0;
  insert_row(upload, copied ? std::optional(database_.last_row()) : std::nullopt);
}

void Transaction::insert_row(const Upload& upload, std::optional<std::int64_t> content_row) {
  run(kInsertUpload, upload.id, upload.workspace_id, or_null(upload.blob_key), content_row, upload.size, upload.name,
      upload.mimetype, upload.sha256, name_of(upload.direction), upload.staged_by, upload.source_id, upload.created_at,
      upload.expires_at, or_null(upload.twin_key));
  uploads_[upload.id] = upload;
}

// Only the columns that change: each one that does not would still cost an update of its indexes.
void Transaction::update(const Upload& upload) {
  const Upload& was = uploads_.at(upload.id).value();
  if (was.fetched_at != upload.fetched_at) {
    run("UPDATE pending_uploads SET fetched_at = $1 WHERE file_id = $2", upload.fetched_at, upload.id);
  }
  if (was.acked_at != upload.acked_at) {
    run("UPDATE pending_uploads SET acked_at = $1 WHERE file_id = $2", upload.acked_at, upload.id);
  }
  if (was.failed_at != upload.failed_at || was.reason != upload.reason) {
    run("UPDATE pending_uploads SET failed_at = $1, reason = $2 WHERE file_id = $3", upload.failed_at,
        or_null(upload.reason), upload.id);
  }
  if (was.damage != upload.damage) {
    const auto damage = upload.damage ? std::optional(name_of(*upload.damage)) : std::nullopt;
    run("UPDATE pending_uploads SET damage = $1 WHERE file_id = $2", damage, upload.id);
  }
  uploads_[upload.id] = upload;
}

void Transaction::remove(std::span<const Upload> uploads, UploadState outcome, Time now) {
  for (const Upload& upload : uploads) {
    run(kKeepFinished, upload.id, name_of(outcome), now);
    if (upload.in_row()) {
      run("DELETE FROM upload_contents WHERE id = (SELECT content_row FROM pending_uploads WHERE file_id = $1)",
          upload.id);
    }
    run("DELETE FROM pending_uploads WHERE file_id = $1", upload.id);
    uploads_[upload.id].reset();
    drop_unless_needed({upload.blob_key, upload.twin_key}, now);
  }
}

void Transaction::drop_unless_needed(const std::vector<std::string>& keys, Time now) {
  for (const std::string& key : keys) {
    if (!key.empty()) run(kDropBlob, key, now);
  }
}

Result<std::optional<std::string>> Transaction::find_claim(const Claim& claim, Time now) {
  return find_kept_answer(*this, claim, now);
}

void Transaction::keep_claim(const Claim& claim, const std::string& answer) {
  // An expired claim of the same scope may not be pruned yet.
  run("INSERT OR REPLACE INTO idempotency_keys (scope, request, answer, expires_at) VALUES ($1, $2, $3, $4)",
      claim.scope, claim.request, answer, claim.expires_at);
}

}  // namespace restante::sqlite
