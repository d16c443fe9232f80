#include "desk/uploads/uploads.h"

#include <utility>

#include "model/errors.h"

namespace restante::desk {
namespace {

Error damaged(UploadDamage damage) {
  const ErrorKind& kind = damage == UploadDamage::missing ? errors::content_missing : errors::integrity_error;
  return Error(kind, {{"damage", std::string(name_of(damage))}}).with_sentence(std::string(sentence_of(damage)));
}

// Checked at every open: for a truncated file the answer would end in the middle.
bool has_size(OpenBlob& blob, std::int64_t size) { return std::cmp_equal(blob.size(), size); }

}  // namespace

bool may_see(const Principal& caller, const Upload& upload) { return !caller.sees_chat_only() || !upload.source_id; }

Result<OpenUpload> Uploads::open(const Principal& caller, WorkspaceId workspace, FileId id) {
  auto upload = admit(caller, workspace, id);
  if (!upload) return upload.error();
  return open(std::move(*upload));
}

Result<Upload> Uploads::admit(const Principal& caller, WorkspaceId workspace, FileId id) {
  auto upload = store_.read_upload(workspace, id);
  if (!upload) return upload.error();
  if (!may_see(caller, *upload)) return errors::upload_gone;
  if (!upload->acked_at && clock_.expiry_time() >= upload->expires_at) return errors::upload_gone;
  const bool shown = rules_.acked_content == AckedContent::everyone || caller.is_person_of(workspace);
  if (upload->acked_at && !shown) return errors::upload_gone;
  return upload;
}

bool Uploads::is_far(const Upload& upload) {
  const auto is_file = [](std::string_view key) {
    const auto placed = parse_key(key);
    return placed && placed->place == Place::dir;
  };
  return !is_file(upload.blob_key) || !is_file(upload.twin_key);
}

Result<OpenUpload> Uploads::open(Upload upload) {
  if (upload.damage && !integrity_.came_back(upload)) return damaged(*upload.damage);
  std::string content = std::exchange(upload.content, {});
  if (upload.in_row()) {
    if (std::ssize(content) == upload.size) return OpenUpload{std::move(upload), std::move(content), nullptr};
    return report_damage(upload, content.empty() ? UploadDamage::missing : UploadDamage::changed);
  }
  return open_blob(std::move(upload));
}

Result<OpenUpload> Uploads::open_blob(Upload upload) {
  for (;;) {
    FoundBlob found = places_.open(upload.keys(), upload.size);
    if (found.by_twin) integrity_.suspect(upload);
    if (found.blob && has_size(*found.blob, upload.size)) {
      return OpenUpload{std::move(upload), {}, std::move(found.blob)};
    }
    // The sweep has deleted the row, the blob was moved, or the blob is missing: the row shows which.
    auto now = store_.find_upload(upload.workspace_id, upload.id);
    if (!now) return errors::upload_gone;
    if (now->keys() == upload.keys()) {
      return report_damage(upload, found.blob ? UploadDamage::changed : UploadDamage::missing);
    }
    upload = std::move(*now);
  }
}

Error Uploads::report_damage(const Upload& upload, UploadDamage damage) {
  // Not waited for: a request that comes before the mark is written gets the same answer.
  (void)integrity_.report_damage(upload, damage);
  return damaged(damage);
}

Result<UploadStatus> Uploads::find(const Principal& caller, WorkspaceId workspace, FileId id) {
  auto upload_status = store_.find_upload_status(workspace, id, clock_.expiry_time());
  if (upload_status && !may_see(caller, upload_status->upload)) return errors::upload_gone;
  return upload_status;
}

std::vector<Upload> Uploads::waiting(const Principal& caller, WorkspaceId workspace, std::optional<FileId> after,
                                     int limit) {
  const auto most = static_cast<std::size_t>(limit);
  std::vector<Upload> shown;
  // A client takes a short page for the end, so the page is filled up when files are omitted.
  for (;;) {
    auto page = store_.list_waiting(workspace, after, limit, clock_.expiry_time());
    const bool last = page.size() < most;
    if (!page.empty()) after = page.back().id;
    for (Upload& upload : page) {
      if (shown.size() < most && may_see(caller, upload)) shown.push_back(std::move(upload));
    }
    if (last || shown.size() == most) return shown;
  }
}

void Uploads::record_fetch(const Upload& upload) {
  if (upload.acked_at || upload.direction == UploadDirection::out) return;
  // Not waited for: the writer keeps the order, so a following ack sees it.
  const Time now = clock_.now();
  auto commit = store_.mark_fetched(upload.workspace_id, upload.id, now);
  Upload fetched = upload;
  fetched.fetched_at = now;
  commit.then([&events = events_, fetched = std::move(fetched)](const Result<void>& marked) {
    if (marked.has_value()) events.fetched(fetched);
  });
}

Commit<Result<UploadChange>> Uploads::ack(WorkspaceId workspace, FileId id) {
  auto commit = store_.ack_upload(workspace, id, moment());
  commit.then([&events = events_](const Result<UploadChange>& change) {
    if (change) events.acked(*change);
  });
  return commit;
}

Commit<Result<UploadChange>> Uploads::fail(WorkspaceId workspace, FileId id, std::string reason) {
  auto commit = store_.fail_upload(workspace, id, std::move(reason), moment());
  commit.then([&events = events_, &integrity = integrity_](const Result<UploadChange>& change) {
    if (!change) return;
    events.failed(*change);
    integrity.suspect(change->upload);
  });
  return commit;
}

Commit<Result<UploadChange>> Uploads::recall(const Principal& caller, WorkspaceId workspace, FileId id) {
  auto commit = store_.recall_upload(workspace, id, owner_of(caller), moment());
  commit.then([&events = events_](const Result<UploadChange>& change) {
    if (change) events.recalled(*change);
  });
  return commit;
}

}  // namespace restante::desk
