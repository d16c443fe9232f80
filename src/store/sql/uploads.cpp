#include <set>

#include "base/text.h"
#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/sql/store.h"

namespace restante {
namespace {

using Staged = std::vector<StagedUpload>;

// Everything about a batch that is prepared before the transaction.
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

// A row is a promise that its content can be read.
void require_place(const NewUploadRow& row) {
  if (row.content.empty() == row.upload.in_row())
    throw std::logic_error("an upload's content is stored nowhere, or twice");
  if (row.upload.in_row() && std::ssize(row.content) != row.upload.size) {
    throw std::logic_error("an upload's content is not of its size");
  }
}

Result<Staged> stage(SqlTransaction& transaction, const Batch& batch, Time now) {
  const auto head = transaction.find_living_head(batch.workspace);
  if (!head) return head.error();
  const auto fits = require_quota((*head)->uploads.unacked(), batch.quota, batch.total);
  if (!fits) return fits.error();
  // The inbox's clock, so that the list of waiting files never gets an entry behind a reader's position either.
  const Time at = SqlTransaction::next_time(**head, now);
  Staged staged;
  staged.reserve(batch.rows.size());
  for (const auto& row : batch.rows) {
    require_place(row);
    StagedUpload one{row.upload, {}};
    one.upload.created_at = at;
    transaction.insert(one.upload, row.content);
    transaction.tallies(batch.workspace).add(one.upload);
    if (one.upload.direction == UploadDirection::in) {
      one.row = transaction.append(batch.workspace, at, row.activity_id, row.arrival);
    }
    staged.push_back(std::move(one));
  }
  transaction.touch(batch.workspace, at);
  return staged;
}

Result<Upload> find_own(SqlTransaction& transaction, WorkspaceId workspace, FileId id) {
  const Upload* found = transaction.upload(id);
  if (!found || found->workspace_id != workspace) return errors::upload_gone;
  return *found;
}

// An upload that the agent can still fetch.
Result<Upload> find_incoming(SqlTransaction& transaction, WorkspaceId workspace, FileId id) {
  auto found = find_own(transaction, workspace, id);
  if (found && found->direction == UploadDirection::out) return errors::upload_gone;
  return found;
}

// A change of state with its receipt: `was` is how the row counted until now, `is` how it counts from now on.
Result<UploadChange> change_with_receipt(SqlTransaction& transaction, const Upload& was, Upload is, UploadState outcome,
                                         Time now) {
  const Head* head = transaction.head(is.workspace_id);
  if (!head) return errors::upload_gone;
  const Time at = SqlTransaction::next_time(*head, now);
  transaction.recount(was, is);
  transaction.update(is);
  const auto receipt = transaction.append(is.workspace_id, at, InboxRowId::make(now), receipt_of(is, outcome));
  return UploadChange{std::move(is), receipt};
}

Result<UploadChange> ack(SqlTransaction& transaction, WorkspaceId workspace, FileId id, Moment moment) {
  const auto was = find_incoming(transaction, workspace, id);
  if (!was) return was.error();
  if (was->acked_at) return UploadChange{*was, std::nullopt};
  if (moment.expiry >= was->expires_at) return errors::upload_gone;
  Upload is = *was;
  is.acked_at = moment.now;
  return change_with_receipt(transaction, *was, std::move(is), UploadState::acked, moment.now);
}

Result<UploadChange> fail(SqlTransaction& transaction, WorkspaceId workspace, FileId id, const std::string& reason,
                          Moment moment) {
  const auto was = find_incoming(transaction, workspace, id);
  if (!was) return was.error();
  if (was->acked_at || moment.expiry >= was->expires_at) return errors::upload_gone;
  const FailureEffect effect = effect_of_failure(*was, reason, moment.now);
  if (was->damage || effect == FailureEffect::none) return UploadChange{*was, std::nullopt};
  Upload is = *was;
  is.reason = reason;
  if (effect == FailureEffect::reason_alone) {
    transaction.update(is);
    return UploadChange{std::move(is), std::nullopt};
  }
  is.failed_at = moment.now;
  return change_with_receipt(transaction, *was, std::move(is), UploadState::failed, moment.now);
}

Result<UploadChange> recall(SqlTransaction& transaction, WorkspaceId workspace, FileId id,
                            std::optional<TokenId> recalled_by, Moment moment) {
  const auto upload = find_own(transaction, workspace, id);
  if (!upload) return upload.error();
  if (recalled_by && upload->staged_by != recalled_by) return errors::upload_gone;
  if (upload->acked_at) return errors::upload_already_acked;
  if (moment.expiry >= upload->expires_at) return errors::upload_gone;
  const Head* head = transaction.head(workspace);
  if (!head) return errors::upload_gone;
  const Time at = SqlTransaction::next_time(*head, moment.now);
  transaction.tallies(workspace).take(*upload);
  transaction.touch(workspace, at);
  transaction.remove(std::span(&*upload, 1), UploadState::recalled, moment.now);
  std::optional<Appended> receipt;
  if (upload->direction == UploadDirection::in) {
    receipt =
        transaction.append(workspace, at, InboxRowId::make(moment.now), receipt_of(*upload, UploadState::recalled));
  }
  return UploadChange{*upload, receipt};
}

Result<void> fetch(SqlTransaction& transaction, WorkspaceId workspace, FileId id, Time now) {
  const auto was = find_own(transaction, workspace, id);
  if (!was) return was.error();
  if (was->acked_at || was->direction == UploadDirection::out) return {};
  Upload is = *was;
  is.fetched_at = now;
  transaction.update(is);
  if (!was->fetched_at && !was->failed_at) transaction.recount(*was, is);
  return {};
}

using FileOwner = std::pair<FileId, WorkspaceId>;

// The upload itself, and all that share its blob.
std::vector<FileOwner> rows_of_blob(SqlTransaction& transaction, const Upload& upload) {
  if (upload.in_row()) return {{upload.id, upload.workspace_id}};
  return transaction.select([](const SqlRow& row) { return FileOwner(row.id<FileId>(0), row.id<WorkspaceId>(1)); },
                            "SELECT file_id, workspace_id FROM pending_uploads WHERE blob_key = $1 ORDER BY file_id",
                            upload.blob_key);
}

// The upload's row and all rows that share its blob and are not marked as damaged yet. The owners are known only now:
// their heads are locked, then the rows are listed and read again. A copy of another workspace that was committed in
// between must not stay unmarked.
std::vector<Upload> lock_rows_of_blob(SqlTransaction& transaction, const Upload& upload) {
  std::set<WorkspaceId> owners{upload.workspace_id};
  for (const auto& [id, owner] : rows_of_blob(transaction, upload)) owners.insert(owner);
  transaction.lock({owners.begin(), owners.end()});
  transaction.forget_uploads();
  std::vector<Upload> rows;
  for (const auto& [id, owner] : rows_of_blob(transaction, upload)) {
    if (!owners.contains(owner)) throw Conflict("a file was copied to another workspace before its blob was locked");
    const Upload* row = transaction.upload(id);
    if (row && !row->damage) rows.push_back(*row);
  }
  return rows;
}

Result<UploadChange> damage_row(SqlTransaction& transaction, const Upload& was, UploadDamage damage, Time now) {
  Upload is = was;
  is.damage = damage;
  const bool awaited = was.direction == UploadDirection::in && !was.acked_at && now < was.expires_at;
  if (!awaited) {
    transaction.update(is);
    return UploadChange{std::move(is), std::nullopt};
  }
  is.failed_at = now;
  is.reason = sentence_of(damage);
  return change_with_receipt(transaction, was, std::move(is), UploadState::failed, now);
}

Result<std::vector<UploadChange>> damage_upload(SqlTransaction& transaction, WorkspaceId workspace, FileId id,
                                                UploadDamage damage, Time now) {
  const auto upload = find_own(transaction, workspace, id);
  if (!upload) return upload.error();
  std::vector<UploadChange> changes;
  for (const Upload& was : lock_rows_of_blob(transaction, *upload)) {
    auto change = damage_row(transaction, was, damage, now);
    if (!change) return change.error();
    changes.push_back(std::move(*change));
  }
  return changes;
}

WriteHints hints_of(WorkspaceId workspace, FileId id) {
  return {.lane = workspace.uuid(), .heads = {workspace}, .uploads = {id}};
}

}  // namespace

Commit<Result<Staged>> SqlStore::stage_uploads(WorkspaceId workspace, std::vector<NewUpload> items,
                                               const StagingTerms& terms, Time now, OptionalClaim<Staged> claim) {
  if (items.empty()) return Commit<Result<Staged>>::ready(Staged());
  if (!uploads_ready()) return Commit<Result<Staged>>::ready(errors::no_callback);
  Batch batch(workspace, std::move(items), terms, now);
  const std::size_t bytes = batch.bytes;
  WriteHints hints = hints_for(workspace);
  hints.claim = scope_of(claim);
  return write(std::move(hints), bytes,
               under_claim(std::move(claim), now, [batch = std::move(batch), now](SqlTransaction& transaction) {
                 return stage(transaction, batch, now);
               }));
}

Commit<Result<void>> SqlStore::mark_fetched(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready()) return Commit<Result<void>>::ready(errors::upload_gone);
  return write(hints_of(workspace, id), sizeof id,
               [workspace, id, now](SqlTransaction& transaction) { return fetch(transaction, workspace, id, now); });
}

Commit<Result<UploadChange>> SqlStore::ack_upload(WorkspaceId workspace, FileId id, Moment at) {
  if (!uploads_ready()) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  return write(hints_of(workspace, id), sizeof id,
               [workspace, id, at](SqlTransaction& transaction) { return ack(transaction, workspace, id, at); });
}

Commit<Result<UploadChange>> SqlStore::fail_upload(WorkspaceId workspace, FileId id, std::string reason, Moment at) {
  if (!uploads_ready()) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  reason.resize(cut_utf8(reason, kMaxReasonBytes).size());
  const std::size_t bytes = sizeof id + reason.size();
  return write(hints_of(workspace, id), bytes,
               [workspace, id, reason = std::move(reason), at](SqlTransaction& transaction) {
                 return fail(transaction, workspace, id, reason, at);
               });
}

Commit<Result<UploadChange>> SqlStore::recall_upload(WorkspaceId workspace, FileId id,
                                                     std::optional<TokenId> recalled_by, Moment at) {
  if (!uploads_ready()) return Commit<Result<UploadChange>>::ready(errors::upload_gone);
  return write(hints_of(workspace, id), sizeof id, [workspace, id, recalled_by, at](SqlTransaction& transaction) {
    return recall(transaction, workspace, id, recalled_by, at);
  });
}

Commit<Result<std::vector<UploadChange>>> SqlStore::mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                                 Time now) {
  if (!uploads_ready()) return Commit<Result<std::vector<UploadChange>>>::ready(errors::upload_gone);
  return write(maintenance_hints(), sizeof id, [workspace, id, damage, now](SqlTransaction& transaction) {
    return damage_upload(transaction, workspace, id, damage, now);
  });
}

}  // namespace restante
