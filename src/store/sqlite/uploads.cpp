#include "base/json_writer.h"
#include "base/text.h"
#include "model/errors.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/inbox.h"

namespace restante::sqlite {
namespace {

const std::string kSelect =
    "SELECT file_id, filename, mimetype, size_bytes, sha256, blob_key, workspace_id, created_at, expires_at, "
    "fetched_at, "
    "acked_at FROM pending_uploads ";
const std::string kFind = kSelect + "WHERE file_id = ?1 AND workspace_id = ?2 AND direction = 'in'";

Upload upload_of(const Statement& row) {
  Upload upload;
  upload.id = row.id<FileId>(0);
  upload.name = row.text(1);
  upload.mimetype = row.text(2);
  upload.size = row.integer(3);
  upload.sha256 = row.digest(4);
  upload.blob_key = row.text(5);
  upload.workspace_id = row.id<WorkspaceId>(6);
  upload.created_at = row.time(7);
  upload.expires_at = row.time(8);
  upload.fetched_at = row.optional_time(9);
  upload.acked_at = row.optional_time(10);
  return upload;
}

Result<Upload> find(Database& database, WorkspaceId workspace, FileId id) {
  Statement row = database.query(kFind, id, workspace);
  if (!row.step()) return errors::upload_gone;
  return upload_of(row);
}

NewActivity arrival_of(WorkspaceId workspace, const NewUpload& item) {
  JsonWriter body;
  body.begin_object();
  body.member("file_id", item.id.text());
  body.member("name", item.name);
  body.member("filename", item.name);
  body.member("mimeType", item.mimetype);
  body.member("size", item.size);
  body.member("uri", pending_uri(workspace, item.id));
  body.member("sha256", to_hex(item.sha256));
  body.end_object();
  NewActivity activity;
  activity.activity_type = "a2a_receive";
  activity.method = "chat_upload_receive";
  activity.summary = "chat_upload_receive: " + item.name;
  activity.target_id = workspace;
  activity.request_body = body.take();
  return activity;
}

// Never a2a_receive: the agent is not handed its own receipts.
NewActivity receipt_of(const Upload& upload) {
  JsonWriter body;
  body.begin_object();
  body.member("file_id", upload.id.text());
  body.member("name", upload.name);
  body.member("size", upload.size);
  body.key("fetched_at");
  upload.fetched_at ? body.string(format_time(*upload.fetched_at)) : body.null();
  body.member("acked_at", format_time(*upload.acked_at));
  body.end_object();
  NewActivity activity;
  activity.activity_type = "upload_receipt";
  activity.method = "chat_upload_acked";
  activity.summary = "chat_upload_acked: " + upload.name;
  activity.target_id = upload.workspace_id;
  activity.request_body = body.take();
  return activity;
}

void insert(Database& database, const Upload& upload) {
  database.run(
      "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, mimetype, sha256, "
      "created_at, "
      "expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      upload.id, upload.workspace_id, upload.blob_key, upload.size, upload.name, upload.mimetype, upload.sha256,
      upload.created_at, upload.expires_at);
}

struct Staging {
  StagedUpload staged;
  NewActivity arrival;
};

std::vector<Staging> stagings_of(WorkspaceId workspace, std::span<const NewUpload> items, Time now, Time expires_at) {
  std::vector<Staging> all;
  all.reserve(items.size());
  for (const auto& item : items) {
    Upload upload{item, workspace, now, expires_at, {}, {}};
    all.push_back({{std::move(upload), {ActivityId::make(now), 0}}, arrival_of(workspace, item)});
  }
  return all;
}

Result<std::vector<StagedUpload>> stage(Database& database, WorkspaceId workspace, std::vector<Staging>& items,
                                        Time now) {
  auto head = take_living_head(database, workspace, now);
  if (!head) return head.error();
  std::vector<StagedUpload> done;
  done.reserve(items.size());
  for (auto& [staged, arrival] : items) {
    // The log's clock, so that the list of waiting files never grows behind a reader either.
    staged.upload.created_at = head->created_at;
    insert(database, staged.upload);
    append_row(database, workspace, *head, staged.activity.id, arrival);
    staged.activity.seq = head->seq;
    head->staged_bytes += staged.upload.size;
    head->staged_files += 1;
    done.push_back(staged);
  }
  put_head(database, workspace, *head);
  return done;
}

Result<Upload> ack(Database& database, WorkspaceId workspace, FileId id, ActivityId receipt, Time now) {
  auto upload = find(database, workspace, id);
  if (!upload || upload->acked_at) return upload;
  if (now >= upload->expires_at) return errors::upload_gone;
  auto head = take_head(database, workspace, now);
  if (!head) return errors::upload_gone;
  upload->acked_at = now;
  database.run("UPDATE pending_uploads SET acked_at = ? WHERE file_id = ?", now, id);
  append_row(database, workspace, *head, receipt, receipt_of(*upload));
  head->staged_bytes -= upload->size;
  head->staged_files -= 1;
  put_head(database, workspace, *head);
  return upload;
}

}  // namespace

Commit<Result<std::vector<StagedUpload>>> EmbeddedStore::stage_uploads(WorkspaceId workspace,
                                                                       std::span<const NewUpload> items, Time now,
                                                                       Time expires_at) {
  if (items.empty()) return Commit<Result<std::vector<StagedUpload>>>::ready(std::vector<StagedUpload>());
  auto stagings = stagings_of(workspace, items, now, expires_at);
  const std::size_t bytes = stagings.size() * (sizeof(Staging) + 512);
  return writer_.submit(bytes, [workspace, stagings = std::move(stagings), now](Database& database) mutable {
    return stage(database, workspace, stagings, now);
  });
}

Result<Upload> EmbeddedStore::find_upload(WorkspaceId workspace, FileId id) {
  return find(*readers_.take(), workspace, id);
}

std::vector<Upload> EmbeddedStore::list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit,
                                                Time now) {
  auto reader = readers_.take();
  std::int64_t created_at = INT64_MIN;
  std::int64_t rowid = 0;
  // One that has been swept meanwhile starts from the front again: shown twice is better than never.
  if (after) {
    Statement row = reader->query(
        "SELECT created_at, rowid FROM pending_uploads WHERE file_id = ?1 AND workspace_id = ?2", *after, workspace);
    if (row.step()) created_at = row.integer(0), rowid = row.integer(1);
  }
  Statement row = reader->query(
      kSelect +
          "WHERE workspace_id = ?1 AND acked_at IS NULL AND (created_at, rowid) > (?2, ?3) AND expires_at > ?4 "
          "AND direction = 'in' ORDER BY created_at, rowid LIMIT ?5",
      workspace, created_at, rowid, now, std::max(limit, 0));
  std::vector<Upload> waiting;
  while (row.step()) waiting.push_back(upload_of(row));
  return waiting;
}

Commit<Result<void>> EmbeddedStore::mark_fetched(WorkspaceId workspace, FileId id, Time now) {
  return writer_.submit(sizeof id, [workspace, id, now](Database& database) -> Result<void> {
    const auto upload = find(database, workspace, id);
    if (!upload) return upload.error();
    if (!upload->acked_at) database.run("UPDATE pending_uploads SET fetched_at = ? WHERE file_id = ?", now, id);
    return {};
  });
}

Commit<Result<Upload>> EmbeddedStore::ack_upload(WorkspaceId workspace, FileId id, Time now) {
  return writer_.submit(sizeof id, [workspace, id, receipt = ActivityId::make(now), now](Database& database) {
    return ack(database, workspace, id, receipt, now);
  });
}

}  // namespace restante::sqlite
