#include "desk/uploads.h"

#include "desk/workspaces.h"
#include "model/errors.h"
#include "model/upload_names.h"

namespace restante::desk {

struct Staging::File {
  NewUpload upload;
  bool named = false;
  Sha256 hash;
  std::unique_ptr<BlobWriter> bytes;  // made with the first byte
};

Staging::Staging(Uploads& uploads, WorkspaceId workspace) : uploads_(uploads), workspace_(workspace) {}

Staging::~Staging() {
  open_.reset();
  if (committed_) return;
  // Bytes without a row: nobody will ever ask for them.
  for (const NewUpload& upload : done_) {
    try {
      uploads_.blobs_.drop(upload.blob_key);
    } catch (const Unavailable& e) {
      // An orphan more for the sweep: nobody is there to be told, and a destructor must not throw.
      uploads_.log_.warn("blob_not_dropped", {{"file_id", upload.id.text()}, {"reason", e.what()}});
    }
  }
}

Result<void> Staging::begin_file(std::string_view raw_name, std::string_view raw_type) {
  if (done_.size() >= uploads_.rules_.max_files) {
    return Error(errors::too_many_files, {{"max", static_cast<std::int64_t>(uploads_.rules_.max_files)}})
        .say("too many files (limit " + std::to_string(uploads_.rules_.max_files) + ")");
  }
  open_ = std::make_unique<File>();
  open_->named = !raw_name.empty();
  open_->upload.id = FileId::make(uploads_.clock_.now());
  open_->upload.name = sanitise_filename(raw_name);
  open_->upload.mimetype = normalise_media_type(raw_type);
  return {};
}

Result<void> Staging::write(std::string_view bytes) {
  NewUpload& upload = open_->upload;
  upload.size += static_cast<std::int64_t>(bytes.size());
  const auto most = static_cast<std::int64_t>(uploads_.rules_.per_file_bytes);
  if (upload.size > most) return Error(errors::file_too_large, {{"filename", upload.name}, {"max", most}});
  if (!open_->bytes) open_->bytes = uploads_.blobs_.put();
  open_->hash.update(bytes);
  open_->bytes->write(bytes);
  return {};
}

Result<void> Staging::end_file() {
  const std::unique_ptr<File> file = std::move(open_);
  if (file->upload.size == 0) {
    if (!file->named) return {};
    return Error(errors::empty_file, {{"filename", file->upload.name}});
  }
  file->upload.sha256 = file->hash.finish();
  file->upload.blob_key = file->bytes->finish();
  done_.push_back(std::move(file->upload));
  return {};
}

Commit<Result<std::vector<StagedUpload>>> Staging::commit() {
  using Answer = Result<std::vector<StagedUpload>>;
  if (done_.empty()) return Commit<Answer>::ready(errors::no_files);
  const Time now = uploads_.clock_.now();
  auto commit = uploads_.store_.stage_uploads(workspace_, done_, now, now + uploads_.rules_.ttl);
  // From here on the rows may exist: dropping their bytes would break the promise of a row. If the commit fails, the
  // bytes are orphans and are collected like those of a crash.
  committed_ = true;
  commit.on_done([&news = uploads_.news_, workspace = workspace_] { news.changed(workspace); });
  for (const NewUpload& upload : done_) {
    uploads_.metrics_.uploads_staged.Increment();
    uploads_.metrics_.uploads_staged_bytes.Increment(static_cast<double>(upload.size));
    uploads_.log_.info("upload_staged", {{"workspace_id", workspace_.text()},
                                         {"file_id", upload.id.text()},
                                         {"name", upload.name},
                                         {"size", upload.size}});
  }
  return commit;
}

Result<std::unique_ptr<Staging>> Uploads::stage(WorkspaceId id) {
  const auto workspace = store_.find_workspace(id);
  if (!workspace) return workspace.error();
  if (workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  if (workspace->delivery_mode != DeliveryMode::poll) return errors::no_callback;
  return std::make_unique<Staging>(*this, id);
}

Result<OpenUpload> Uploads::open(const Principal& caller, WorkspaceId workspace, FileId id) {
  auto upload = store_.find_upload(workspace, id);
  if (!upload) return upload.error();
  const Time now = clock_.now();
  if (!upload->acked_at && now >= upload->expires_at) return errors::upload_gone;
  if (upload->acked_at && !caller.is_person_of(workspace)) return errors::upload_gone;
  auto blob = blobs_.open(upload->blob_key);
  if (!blob) return errors::upload_gone;
  return OpenUpload{std::move(*upload), std::move(blob)};
}

void Uploads::note_fetched(const Upload& upload) {
  // Not waited for: the writer keeps the order, so an ack that follows already sees it.
  auto commit = store_.mark_fetched(upload.workspace_id, upload.id, clock_.now());
  commit.on_done([&news = news_, workspace = upload.workspace_id] { news.changed(workspace); });
  metrics_.uploads_fetched.Increment();
  log_.info("upload_fetched", {{"workspace_id", upload.workspace_id.text()},
                               {"file_id", upload.id.text()},
                               {"name", upload.name},
                               {"size", upload.size}});
}

Commit<Result<Upload>> Uploads::ack(WorkspaceId workspace, FileId id) {
  auto commit = store_.ack_upload(workspace, id, clock_.now());
  commit.on_done([&news = news_, workspace] { news.changed(workspace); });
  return commit;
}

}  // namespace restante::desk
