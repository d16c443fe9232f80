#include "base/text.h"
#include "model/errors.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/uploads/upload_rows.h"
#include "store/sqlite/workspaces/claims.h"

namespace restante::sqlite {
namespace {

using Staged = std::vector<StagedUpload>;

// The uploads of one call, prepared before the writer runs.
struct Batch {
  Batch(WorkspaceId to, std::vector<NewUpload> items, const StagingTerms& terms, Time now)
      : workspace(to), quota(terms.quota) {
    rows.reserve(items.size());
    for (auto& item : items) {
      total.files += 1;
      total.bytes += item.size;
      bytes += sizeof(NewUploadRow) + 512 + item.content.size();
      rows.emplace_back(workspace, std::move(item), terms, now);
    }
  }
  WorkspaceId workspace;
  UploadQuota quota;
  UploadTally total;
  std::size_t bytes = 0;
  std::vector<NewUploadRow> rows;
};

std::optional<std::int64_t> keep_content_of(Database& database, const NewUploadRow& row) {
  if (!row.content.empty() && std::ssize(row.content) != row.upload.size) {
    throw std::logic_error("an upload's content is not of its size");
  }
  return keep_content(database, row.content);
}

Result<Staged> stage(Database& database, const Batch& batch, Time now) {
  auto head = take_living_head(database, batch.workspace, now);
  if (!head) return head.error();
  if (const auto fits = require_quota(head->unacked, batch.quota, batch.total); !fits) return fits.error();
  UploadTallies change;
  Staged staged;
  staged.reserve(batch.rows.size());
  for (const auto& row : batch.rows) {
    staged.push_back(stage_row(database, *head, row, keep_content_of(database, row), change));
  }
  put_head(database, batch.workspace, *head, change);
  return staged;
}

// An upload for the agent of `workspace`; an outgoing one is upload_gone.
Result<UploadRow> find_incoming(Database& database, WorkspaceId workspace, FileId id) {
  auto row = find_upload_row(database, workspace, id);
  if (row && row->upload.direction == UploadDirection::out) return errors::upload_gone;
  return row;
}

// Writes the receipt and the counts of a change of state. The row itself is already changed from `was` to `is`.
UploadChange change_with_receipt(Database& database, const Upload& was, Upload is, UploadState outcome, Time now) {
  Head head = take_head(database, is.workspace_id, now);
  UploadTallies change;
  change.take(was);
  change.add(is);
  const auto receipt = append_receipt(database, head, is, outcome, now);
  put_head(database, is.workspace_id, head, change);
  return {std::move(is), receipt};
}

Result<UploadChange> ack(Database& database, WorkspaceId workspace, FileId id, Time now) {
  auto row = find_incoming(database, workspace, id);
  if (!row) return row.error();
  const Upload& was = row->upload;
  if (was.acked_at) return UploadChange{was, std::nullopt};
  if (now >= was.expires_at) return errors::upload_gone;
  Upload is = was;
  is.acked_at = now;
  database.run("UPDATE pending_uploads SET acked_at = ? WHERE file_id = ?", now, id);
  return change_with_receipt(database, was, std::move(is), UploadState::acked, now);
}

Result<UploadChange> fail(Database& database, WorkspaceId workspace, FileId id, const std::string& reason, Time now) {
  auto row = find_incoming(database, workspace, id);
  if (!row) return row.error();
  const Upload& was = row->upload;
  if (was.acked_at || now >= was.expires_at) return errors::upload_gone;
  if (was.damage || already_failed_with(was, reason)) return UploadChange{was, std::nullopt};
  Upload is = was;
  is.failed_at = now;
  is.reason = reason;
  database.run("UPDATE pending_uploads SET failed_at = ?, reason = ? WHERE file_id = ?", now, reason, id);
  return change_with_receipt(database, was, std::move(is), UploadState::failed, now);
}

// The row and all rows that share its blob, without those that are marked as damaged already.
std::vector<Upload> rows_of_the_same_bytes(Database& database, const Upload& upload) {
  if (upload.damage) return {};
  if (upload.in_row()) return {upload};
  static const std::string sql = kSelectUploadRows + "WHERE blob_key = ?1 AND damage IS NULL ORDER BY file_id";
  std::vector<Upload> rows;
  Statement row = database.query(sql, upload.blob_key);
  while (row.step()) rows.push_back(upload_row_of(row).upload);
  return rows;
}

UploadChange damage_row(Database& database, const Upload& was, UploadDamage damage, Time now) {
  Upload is = was;
  is.damage = damage;
  database.run("UPDATE pending_uploads SET damage = ? WHERE file_id = ?", name_of(damage), is.id);
  const bool awaited = was.direction == UploadDirection::in && !was.acked_at && now < was.expires_at;
  if (!awaited) return {std::move(is), std::nullopt};
  is.failed_at = now;
  is.reason = sentence_of(damage);
  database.run("UPDATE pending_uploads SET failed_at = ?, reason = ? WHERE file_id = ?", now, is.reason, is.id);
  return change_with_receipt(database, was, std::move(is), UploadState::failed, now);
}

Result<std::vector<UploadChange>> damage_upload(Database& database, WorkspaceId workspace, FileId id,
                                                UploadDamage damage, Time now) {
  const auto row = find_upload_row(database, workspace, id);
  if (!row) return row.error();
  std::vector<UploadChange> changes;
  for (const Upload& was : rows_of_the_same_bytes(database, row->upload)) {
    changes.push_back(damage_row(database, was, damage, now));
  }
  return changes;
}

Result<UploadChange> recall(Database& database, WorkspaceId workspace, FileId id, std::optional<TokenId> recalled_by,
                            Time now) {
  auto row = find_upload_row(database, workspace, id);
  if (!row) return row.error();
  const Upload& upload = row->upload;
  if (recalled_by && upload.staged_by != recalled_by) return errors::upload_gone;
  if (upload.acked_at) return errors::upload_already_acked;
  if (now >= upload.expires_at) return errors::upload_gone;
  Head head = take_head(database, workspace, now);
  UploadTallies change;
  change.take(upload);
  remove_row(database, *row, UploadState::recalled, now);
  std::optional<Appended> receipt;
  if (upload.direction == UploadDirection::in) {
    receipt = append_receipt(database, head, upload, UploadState::recalled, now);
  }
  put_head(database, workspace, head, change);
  return UploadChange{upload, receipt};
}

Result<void> fetch(Database& database, WorkspaceId workspace, FileId id, Time now) {
  const auto row = find_upload_row(database, workspace, id);
  if (!row) return row.error();
  const Upload& was = row->upload;
  if (was.acked_at || was.direction == UploadDirection::out) return {};
  database.run("UPDATE pending_uploads SET fetched_at = ? WHERE file_id = ?", now, id);
  if (was.fetched_at || was.failed_at) return {};
  Upload is = was;
  is.fetched_at = now;
  UploadTallies change;
  change.take(was);
  change.add(is);
  change_tallies(database, workspace, change);
  return {};
}

}  // namespace

Commit<Result<Staged>> EmbeddedStore::stage_uploads(WorkspaceId workspace, std::vector<NewUpload> items,
                                                    const StagingTerms& terms, Time now, OptionalClaim<Staged> claim) {
  if (items.empty()) return Commit<Result<Staged>>::ready(Staged());
  if (!uploads_ready_) return Commit<Result<Staged>>::ready(errors::no_callback);
  Batch batch(workspace, std::move(items), terms, now);
  const std::size_t bytes = batch.bytes;
  return writer_.submit(bytes, under_claim(std::move(claim), now, [batch = std::move(batch), now](Database& database) {
                          return stage(database, batch, now);
                        }));
}

Commit<Result<void>> EmbeddedStore::mark_fetched(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready_) return Commit<Result<void>>::ready(errors::upload_gone);
  return writer_.submit(sizeof id,
                        [workspace, id, now](Database& database) { return fetch(database, workspace, id, now); });
}

Commit<Result<UploadChange>> EmbeddedStore::ack_upload(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready_) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  return writer_.submit(sizeof id,
                        [workspace, id, now](Database& database) { return ack(database, workspace, id, now); });
}

Commit<Result<UploadChange>> EmbeddedStore::fail_upload(WorkspaceId workspace, FileId id, std::string reason,
                                                        Time now) {
  if (!uploads_ready_) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  reason.resize(cut_utf8(reason, kMaxReasonBytes).size());
  const std::size_t bytes = sizeof id + reason.size();
  return writer_.submit(bytes, [workspace, id, reason = std::move(reason), now](Database& database) {
    return fail(database, workspace, id, reason, now);
  });
}

Commit<Result<std::vector<UploadChange>>> EmbeddedStore::mark_damaged(WorkspaceId workspace, FileId id,
                                                                      UploadDamage damage, Time now) {
  if (!uploads_ready_) return Commit<Result<std::vector<UploadChange>>>::ready(errors::upload_gone);
  return writer_.submit(sizeof id, [workspace, id, damage, now](Database& database) {
    return damage_upload(database, workspace, id, damage, now);
  });
}

Commit<Result<UploadChange>> EmbeddedStore::recall_upload(WorkspaceId workspace, FileId id,
                                                          std::optional<TokenId> recalled_by, Time now) {
  if (!uploads_ready_) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  return writer_.submit(sizeof id, [workspace, id, recalled_by, now](Database& database) {
    return recall(database, workspace, id, recalled_by, now);
  });
}

}  // namespace restante::sqlite
