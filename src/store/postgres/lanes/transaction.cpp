#include "store/postgres/lanes/transaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/errors.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

constexpr std::string_view kInsertContents =
    "INSERT INTO upload_contents (file_id, content) SELECT * FROM unnest($1, $2)";
constexpr std::string_view kInsertActivities =
    "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, source_id, target_id, method, summary, "
    "request_body, response_body, status, error_detail, duration_ms, created_at, message_id, traceparent) "
    "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
// The key of a pruned row may still exist.
constexpr std::string_view kInsertMessageKeys =
    "INSERT INTO message_keys (workspace_id, digest, seq, created_at) SELECT * FROM unnest($1, $2, $3, $4) "
    "ON CONFLICT (workspace_id, digest) DO UPDATE SET seq = excluded.seq, created_at = excluded.created_at";
constexpr std::string_view kInsertClaims =
    "INSERT INTO idempotency_keys (scope, request, answer, expires_at) SELECT * FROM unnest($1, $2, $3, $4)";
constexpr std::string_view kInsertUploads =
    "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, mimetype, sha256, direction, "
    "staged_by, source_id, created_at, fetched_at, acked_at, failed_at, reason, damage, expires_at, "
    "twin_key) SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
constexpr std::string_view kUpdateUploads =
    "UPDATE pending_uploads p SET fetched_at = u.fetched_at, acked_at = u.acked_at, failed_at = u.failed_at, reason = "
    "u.reason, damage = u.damage FROM unnest($1, $2, $3, $4, $5, $6) AS u (file_id, fetched_at, acked_at, failed_at, "
    "reason, damage) WHERE p.file_id = u.file_id";
constexpr std::string_view kUpdateHeads =
    "UPDATE inbox_heads h SET last_seq = u.last_seq, last_created_at = u.last_created_at, staged_files = "
    "u.staged_files, staged_bytes = u.staged_bytes, fetched_files = u.fetched_files, fetched_bytes = u.fetched_bytes, "
    "failed_files = u.failed_files, failed_bytes = u.failed_bytes, acked_files = u.acked_files, acked_bytes = "
    "u.acked_bytes, outgoing_files = u.outgoing_files, outgoing_bytes = u.outgoing_bytes "
    "FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS u (workspace_id, last_seq, "
    "last_created_at, staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes, "
    "acked_files, acked_bytes, outgoing_files, outgoing_bytes) WHERE h.workspace_id = u.workspace_id";

// In the order of their ids: this keeps two groups from waiting for each other.
constexpr std::string_view kLockHeads =
    "SELECT workspace_id, last_seq, last_created_at, staged_files, staged_bytes, fetched_files, fetched_bytes, "
    "failed_files, failed_bytes, acked_files, acked_bytes, outgoing_files, outgoing_bytes, acked_seq FROM inbox_heads "
    "WHERE workspace_id = ANY($1) ORDER BY workspace_id FOR UPDATE";
// A separate statement, because it must see what was committed while the one before it waited.
constexpr std::string_view kFindRemoved = "SELECT id FROM workspaces WHERE id = ANY($1) AND status = 'removed'";
constexpr std::string_view kFindClaims =
    "SELECT scope, request, answer, expires_at FROM idempotency_keys WHERE scope = ANY($1)";
constexpr std::string_view kFindMessages =
    "SELECT k.workspace_id, k.digest, a.id, a.seq FROM unnest($1, $2) AS w (workspace_id, digest) JOIN message_keys k "
    "ON k.workspace_id = w.workspace_id AND k.digest = w.digest JOIN activity_logs a ON a.workspace_id = "
    "k.workspace_id AND a.seq = k.seq";

const std::string kFindUploads = kSelectUploads + "WHERE file_id = ANY($1)";

std::optional<std::string_view> damage_of(const Upload& upload) {
  return upload.damage ? std::optional(name_of(*upload.damage)) : std::nullopt;
}

template <class T>
Array array_of(Type type, const T& values) {
  Array array(type);
  for (const auto& value : values) array.add(value);
  return array;
}

}  // namespace

Transaction::Transaction(Connection& connection)
    : connection_(connection),
      contents_(kInsertContents, {Type::uuid, Type::bytea}),
      activities_(kInsertActivities, {Type::uuid, Type::uuid, Type::int8, Type::text, Type::uuid, Type::uuid,
                                      Type::text, Type::text, Type::json, Type::json, Type::text, Type::text,
                                      Type::int8, Type::timestamptz, Type::text, Type::text}),
      message_keys_(kInsertMessageKeys, {Type::uuid, Type::bytea, Type::int8, Type::timestamptz}),
      claim_rows_(kInsertClaims, {Type::bytea, Type::bytea, Type::text, Type::timestamptz}) {}

void Transaction::begin(const CommitMark& mark, std::span<const WriteHints* const> hints) {
  instance_ = mark.instance;
  lazily_ = std::ranges::all_of(hints, &WriteHints::lazily);
  std::set<WorkspaceId> heads;
  std::set<FileId> uploads;
  Array scopes(Type::bytea);
  Array message_workspaces(Type::uuid);
  Array message_digests(Type::bytea);
  for (const WriteHints* one : hints) {
    heads.insert(one->heads.begin(), one->heads.end());
    uploads.insert(one->uploads.begin(), one->uploads.end());
    if (one->claim && claims_.try_emplace(*one->claim).second) scopes.add(*one->claim);
    if (one->message && messages_.try_emplace(*one->message).second) {
      message_workspaces.add(one->message->first);
      message_digests.add(one->message->second);
    }
  }
  for (const auto& id : heads) heads_.try_emplace(id);
  for (const auto& id : uploads) uploads_.try_emplace(id);

  connection_.send("BEGIN");
  connection_.send("UPDATE commit_marks SET mark = $2, marked_at = now() WHERE writer = $1", mark.writer, mark.number);
  const Array head_ids = array_of(Type::uuid, heads);
  if (!heads.empty()) {
    connection_.send(kLockHeads, head_ids);
    connection_.send(kFindRemoved, head_ids);
  }
  if (!uploads.empty()) connection_.send(kFindUploads, array_of(Type::uuid, uploads));
  if (!scopes.empty()) connection_.send(kFindClaims, scopes);
  if (!message_digests.empty()) connection_.send(kFindMessages, message_workspaces, message_digests);

  const auto answers = connection_.sync();
  std::size_t at = 1;
  // The row was pruned. Without it the outcome of this COMMIT could not be found out later. A new session inserts it
  // again.
  if (answers[at++].affected() != 1) throw Lost("this writer's row in commit_marks was deleted");
  if (!heads.empty()) {
    read_heads(answers[at], answers[at + 1]);
    at += 2;
  }
  if (!uploads.empty()) read_uploads(answers[at++]);
  if (!scopes.empty()) read_claims(answers[at++]);
  if (!message_digests.empty()) read_messages(answers[at++]);
}

void Transaction::commit() {
  flush();
  for (const auto& text : change_set_.texts(instance_)) connection_.send("SELECT pg_notify('restante', $1)", text);
  if (lazily_) connection_.send("SET LOCAL synchronous_commit TO off");
  connection_.send("COMMIT");
  const auto answers = connection_.sync();
  if (answers.back().command() != "COMMIT") throw Unavailable("PostgreSQL rolled back instead of committing");
}

Connection& Transaction::connection() {
  flush();
  return connection_;
}

void Transaction::lock(std::vector<WorkspaceId> workspaces) {
  std::erase_if(workspaces, [&](const auto& id) { return heads_.contains(id); });
  if (workspaces.empty()) return;
  for (const auto& id : workspaces) heads_.try_emplace(id);
  const Array ids = array_of(Type::uuid, workspaces);
  connection().send(kLockHeads, ids);
  connection_.send(kFindRemoved, ids);
  const auto answers = connection_.sync();
  read_heads(answers[answers.size() - 2], answers.back());
}

void Transaction::lock_table(std::string_view table) {
  connection().query(fmt::format("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", table));
}

void Transaction::lock_number(std::int64_t number) { connection().query("SELECT pg_advisory_xact_lock($1)", number); }

std::int64_t Transaction::count(const Rows& answer) {
  changes_ += static_cast<std::size_t>(answer.affected());
  return answer.affected();
}

void Transaction::read_heads(const Rows& heads, const Rows& removed) {
  for (const Row row : heads) {
    Head head;
    head.last_seq = row.integer(1);
    head.last_created_at = row.time(2);
    head.uploads = tallies_of(row, 3);
    head.acked_seq = row.integer(13);
    heads_[row.id<WorkspaceId>(0)] = head;
  }
  for (const Row row : removed) {
    if (auto& head = heads_[row.id<WorkspaceId>(0)]) head->removed = true;
  }
}

void Transaction::read_uploads(const Rows& rows) {
  for (const Row row : rows) {
    Upload upload = upload_of(row);
    uploads_[upload.id] = std::move(upload);
  }
}

void Transaction::read_claims(const Rows& rows) {
  for (const Row row : rows) claims_[row.digest(0)] = Answered{row.digest(1), row.text(2), row.time(3)};
}

void Transaction::read_messages(const Rows& rows) {
  for (const Row row : rows) {
    messages_[{row.id<WorkspaceId>(0), row.digest(1)}] = Appended{row.id<InboxRowId>(2), row.integer(3), true};
  }
}

void Transaction::merge_totals() {
  run("WITH gone AS (DELETE FROM upload_totals WHERE writer <> 0 AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a "
      "WHERE "
      "a.pid = writer) RETURNING *) INSERT INTO upload_totals AS t SELECT 0, sum(staged_files), sum(staged_bytes), "
      "sum(fetched_files), sum(fetched_bytes), sum(failed_files), sum(failed_bytes), sum(acked_files), "
      "sum(acked_bytes), sum(outgoing_files), sum(outgoing_bytes) FROM gone HAVING count(*) > 0 ON "
      "CONFLICT (writer) DO UPDATE SET staged_files = t.staged_files + excluded.staged_files, staged_bytes = "
      "t.staged_bytes + excluded.staged_bytes, fetched_files = t.fetched_files + excluded.fetched_files, fetched_bytes "
      "= t.fetched_bytes + excluded.fetched_bytes, failed_files = t.failed_files + excluded.failed_files, failed_bytes "
      "= t.failed_bytes + excluded.failed_bytes, acked_files = t.acked_files + excluded.acked_files, acked_bytes = "
      "t.acked_bytes + excluded.acked_bytes, outgoing_files = t.outgoing_files + excluded.outgoing_files, "
      "outgoing_bytes = t.outgoing_bytes + excluded.outgoing_bytes");
  run("WITH gone AS (DELETE FROM delegation_totals WHERE writer <> 0 AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a "
      "WHERE a.pid = writer) RETURNING *) INSERT INTO delegation_totals AS t SELECT 0, status, sum(number) FROM gone "
      "GROUP BY status ON CONFLICT (writer, status) DO UPDATE SET number = t.number + excluded.number");
}

void Transaction::make_head(WorkspaceId workspace) {
  run("INSERT INTO inbox_heads (workspace_id) VALUES ($1)", workspace);
  heads_[workspace] = Head();
}

void Transaction::remove_head(WorkspaceId workspace) {
  heads_.at(workspace).value().removed = true;
  change_set_.changed.insert(workspace);
  ++changes_;
}

const Head* Transaction::head(WorkspaceId workspace) {
  if (!heads_.contains(workspace)) lock({workspace});
  const auto& known = heads_[workspace];
  return known ? &*known : nullptr;
}

Head& Transaction::held(WorkspaceId workspace) {
  changed_heads_.insert(workspace);
  ++changes_;
  return heads_.at(workspace).value();
}

Appended Transaction::append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& row) {
  Head& head = held(workspace);
  head.last_created_at = at;
  activities_.add(id, workspace, ++head.last_seq, row.activity_type, row.source_id, row.target_id, row.method,
                  row.summary, or_null(row.request_body), or_null(row.response_body), row.status,
                  or_null(row.error_detail), row.duration_ms, at, or_null(row.message_id), or_null(row.traceparent));
  change_set_.append(workspace, head.last_seq);
  return {id, head.last_seq, false};
}

void Transaction::set_acked(WorkspaceId workspace, std::int64_t seq) {
  heads_.at(workspace).value().acked_seq = seq;
  run("UPDATE inbox_heads SET acked_seq = $2 WHERE workspace_id = $1", workspace, seq);
}

std::optional<Appended> Transaction::find_repeated(WorkspaceId workspace, const Message& message) {
  if (!message.digest) return std::nullopt;
  return messages_.at({workspace, *message.digest});
}

// One statement must not change a row twice, and several messages of a group may name the same file: the first one
// will do.
void Transaction::keep_named(WorkspaceId workspace, const Digest& key, std::int64_t seq, Time at) {
  if (named_.emplace(workspace, key).second) message_keys_.add(workspace, key, seq, at);
}

Appended Transaction::append_message(WorkspaceId workspace, Time at, const Message& message) {
  const auto appended = append(workspace, at, message.id, message.activity);
  if (message.digest) {
    message_keys_.add(workspace, *message.digest, appended.seq, at);
    messages_[{workspace, *message.digest}] = Appended{appended.id, appended.seq, true};
  }
  for (const Digest& key : message.named) keep_named(workspace, key, appended.seq, at);
  return appended;
}

const Upload* Transaction::upload(FileId id) {
  if (uploads_.try_emplace(id).second) {
    Array ids(Type::uuid);
    ids.add(id);
    read_uploads(connection().query(kFindUploads, ids));
  }
  const auto& known = uploads_[id];
  return known ? &*known : nullptr;
}

void Transaction::insert(const Upload& upload, std::string_view content) {
  ++changes_;
  uploads_[upload.id] = upload;
  new_uploads_.push_back(upload.id);
  if (!content.empty()) contents_.add(upload.id, Bytes{content});
}

void Transaction::insert_copy(const Upload& upload, const Upload& source) {
  insert(upload, {});
  if (!source.in_row()) return;
  run("INSERT INTO upload_contents (file_id, content) SELECT $1, content FROM upload_contents WHERE file_id = $2",
      upload.id, source.id);
}

void Transaction::update(const Upload& upload) {
  ++changes_;
  uploads_[upload.id] = upload;
  changed_uploads_.insert(upload.id);
}

void Transaction::remove(std::span<const Upload> uploads, UploadState outcome, Time now) {
  Array ids(Type::uuid);
  Array contents(Type::uuid);
  std::vector<std::string> keys;
  for (const Upload& upload : uploads) {
    ids.add(upload.id);
    upload.in_row() ? contents.add(upload.id) : keys.push_back(upload.blob_key);
    if (!upload.twin_key.empty()) keys.push_back(upload.twin_key);
  }
  // Two rows that share a blob may be deleted at the same time, each under the lock of its own workspace: they must not
  // both find the other one still there.
  if (!keys.empty()) {
    run("SELECT 1 FROM pending_uploads WHERE blob_key = ANY($1) ORDER BY file_id FOR UPDATE",
        array_of(Type::text, keys));
  }
  run("WITH gone AS (DELETE FROM pending_uploads WHERE file_id = ANY($1) RETURNING *) INSERT INTO finished_uploads "
      "(file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, created_at, "
      "expires_at, fetched_at, acked_at, failed_at, reason, damage, outcome, ended_at) SELECT file_id, workspace_id, "
      "size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, created_at, expires_at, fetched_at, "
      "acked_at, failed_at, reason, damage, $2, $3 FROM gone ON CONFLICT (file_id) DO UPDATE SET outcome = "
      "excluded.outcome, ended_at = excluded.ended_at",
      ids, name_of(outcome), now);
  if (!contents.empty()) run("DELETE FROM upload_contents WHERE file_id = ANY($1)", contents);
  drop_unless_needed(keys, now);
  for (const Upload& upload : uploads) uploads_[upload.id].reset();
}

void Transaction::drop_unless_needed(const std::vector<std::string>& keys, Time now) {
  if (keys.empty()) return;
  run("INSERT INTO dropped_blobs (blob_key, dropped_at) "
      "SELECT DISTINCT key, $2 FROM unnest($1) AS left_by (key) "
      "WHERE NOT EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = key) "
      "AND NOT EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = key) "
      "ON CONFLICT DO NOTHING",
      array_of(Type::text, keys), now);
}

Result<std::optional<std::string>> Transaction::find_claim(const Claim& claim, Time now) {
  const auto& known = claims_.at(claim.scope);
  if (!known || known->expires_at <= now) return std::optional<std::string>();
  if (known->request != claim.request) return errors::idempotency_mismatch;
  return std::optional<std::string>(known->answer);
}

void Transaction::keep_claim(const Claim& claim, const std::string& answer) {
  auto& known = claims_[claim.scope];
  // An expired claim under the same scope exists until it is pruned.
  if (known) run("DELETE FROM idempotency_keys WHERE scope = $1", claim.scope);
  ++changes_;
  claim_rows_.add(claim.scope, claim.request, answer, claim.expires_at);
  known = Answered{claim.request, answer, claim.expires_at};
}

void Transaction::flush() {
  contents_.send(connection_);
  flush_uploads();
  activities_.send(connection_);
  message_keys_.send(connection_);
  claim_rows_.send(connection_);
  flush_heads();
}

void Transaction::flush_uploads() {
  if (!new_uploads_.empty()) {
    Bulk rows(kInsertUploads,
              {Type::uuid, Type::uuid, Type::text, Type::int8, Type::text, Type::text, Type::bytea, Type::text,
               Type::uuid, Type::uuid, Type::timestamptz, Type::timestamptz, Type::timestamptz, Type::timestamptz,
               Type::text, Type::text, Type::timestamptz, Type::text});
    for (const auto& id : std::exchange(new_uploads_, {})) {
      changed_uploads_.erase(id);
      const Upload& one = uploads_.at(id).value();
      rows.add(one.id, one.workspace_id, or_null(one.blob_key), one.size, one.name, one.mimetype, one.sha256,
               name_of(one.direction), one.staged_by, one.source_id, one.created_at, one.fetched_at, one.acked_at,
               one.failed_at, or_null(one.reason), damage_of(one), one.expires_at, or_null(one.twin_key));
    }
    rows.send(connection_);
  }
  if (changed_uploads_.empty()) return;
  Bulk rows(kUpdateUploads,
            {Type::uuid, Type::timestamptz, Type::timestamptz, Type::timestamptz, Type::text, Type::text});
  for (const auto& id : std::exchange(changed_uploads_, {})) {
    const Upload& one = uploads_.at(id).value();
    rows.add(one.id, one.fetched_at, one.acked_at, one.failed_at, or_null(one.reason), damage_of(one));
  }
  rows.send(connection_);
}

void Transaction::flush_heads() {
  if (changed_heads_.empty()) return;
  Bulk rows(kUpdateHeads, {Type::uuid, Type::int8, Type::timestamptz, Type::int8, Type::int8, Type::int8, Type::int8,
                           Type::int8, Type::int8, Type::int8, Type::int8, Type::int8, Type::int8});
  for (const auto& id : std::exchange(changed_heads_, {})) {
    const Head& head = heads_.at(id).value();
    const UploadTallies& of = head.uploads;
    rows.add(id, head.last_seq, head.last_created_at, of.staged.files, of.staged.bytes, of.fetched.files,
             of.fetched.bytes, of.failed.files, of.failed.bytes, of.acked.files, of.acked.bytes, of.outgoing.files,
             of.outgoing.bytes);
  }
  rows.send(connection_);
}

}  // namespace restante::postgres
