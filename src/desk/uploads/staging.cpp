#include "desk/uploads/staging.h"

#include "desk/uploads/uploads.h"
#include "model/errors.h"
#include "model/upload_names.h"

namespace restante::desk {
namespace {

// How many bytes may be written before the free space is checked again.
constexpr std::int64_t kCheckSpaceEvery = 1 << 20;

void add_part(Sha256& hash, std::string_view part) {
  hash.update(std::to_string(part.size()) + ':');
  hash.update(part);
}

}  // namespace

struct Staging::File {
  NewUpload upload;
  bool named = false;
  Sha256 hash;
  std::unique_ptr<PlacesWriter> bytes;  // made when the content no longer fits into the row
  std::int64_t checked_size = 0;        // its size when the free space was last checked
};

Result<DeliveryMode> Uploads::delivery(WorkspaceId workspace) { return store_.find_delivery(workspace); }

Result<std::unique_ptr<Staging>> Uploads::stage(WorkspaceId workspace, UploadDirection direction,
                                                const Principal& caller) {
  if (!rules_.staging || !store_.uploads_ready()) return errors::no_callback;
  if (!has_room(0)) return errors::insufficient_storage;
  return std::make_unique<Staging>(*this, workspace, direction, caller);
}

Staging::Staging(Uploads& uploads, WorkspaceId workspace, UploadDirection direction, const Principal& caller)
    : uploads_(uploads),
      workspace_(workspace),
      direction_(direction),
      staged_by_(Uploads::owner_of(caller)),
      by_agent_(caller.is_agent_of(workspace)) {}

Staging::~Staging() { give_up(); }

void Staging::give_up() {
  if (committed_ && !*refused_) return;
  open_.reset();
  for (const std::string& key : keys_) {
    // The sweep deletes as an orphan what stays. There is no caller to report to, and a destructor must not throw.
    try {
      try {
        uploads_.places_.drop_unreferenced(key);
      } catch (const std::exception& e) {
        uploads_.log_.warn("blob_not_dropped", {{"workspace_id", workspace_.text()}, {"reason", e.what()}});
      }
    } catch (...) {
      // Without memory the line cannot be written either.
    }
  }
  keys_.clear();
}

Result<void> Staging::begin_file(std::string_view raw_name, std::string_view raw_type) {
  const unsigned most = uploads_.rules_.max_files;
  if (done_.size() >= most) {
    return Error(errors::too_many_files, {{"max", static_cast<std::int64_t>(most)}})
        .with_sentence("too many files (limit " + std::to_string(most) + ")");
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
  open_->hash.update(bytes);
  if (upload.size <= kMaxRowBytes) {
    upload.content += bytes;
    return {};
  }
  if (upload.size - open_->checked_size >= kCheckSpaceEvery) {
    open_->checked_size = upload.size;
    if (!uploads_.has_room(kCheckSpaceEvery)) return errors::insufficient_storage;
  }
  if (!open_->bytes) {
    open_->bytes = uploads_.places_.put();
    if (!upload.content.empty()) open_->bytes->write(upload.content);
    upload.content = std::string();
  }
  open_->bytes->write(bytes);
  return {};
}

Result<void> Staging::end_file() {
  const std::unique_ptr<File> file = std::move(open_);
  NewUpload& upload = file->upload;
  if (upload.size == 0) {
    if (!file->named) return {};
    return Error(errors::empty_file, {{"filename", upload.name}});
  }
  upload.sha256 = file->hash.finish();
  if (file->bytes) {
    BlobKeys keys = file->bytes->finish();
    keys_.push_back(keys.key);
    if (!keys.twin.empty()) keys_.push_back(keys.twin);
    upload.blob_key = std::move(keys.key);
    upload.twin_key = std::move(keys.twin);
  }
  done_.push_back(std::move(upload));
  return {};
}

Digest Staging::digest() const {
  Sha256 hash;
  add_part(hash, name_of(direction_));
  for (const NewUpload& upload : done_) {
    add_part(hash, upload.name);
    add_part(hash, upload.mimetype);
    add_part(hash, std::to_string(upload.size));
    add_part(hash, {reinterpret_cast<const char*>(upload.sha256.data()), upload.sha256.size()});
  }
  return hash.finish();
}

bool Staging::on_disk() const { return !keys_.empty(); }

StagingTerms Staging::terms(Time start) const {
  const UploadRules& rules = uploads_.rules_;
  return {start + rules.ttl, rules.quota, direction_, staged_by_, by_agent_};
}

// After a commit was started, its rows may exist even if it fails. So the blobs are kept; if no row names them, the
// sweep deletes them as orphans. Only an answer that is an error, or that of an earlier request, means that there are
// no rows.
Commit<Result<std::vector<StagedUpload>>> Staging::commit(OptionalClaim<std::vector<StagedUpload>> claim) {
  using Answer = Result<std::vector<StagedUpload>>;
  if (done_.empty()) return Commit<Answer>::ready(errors::no_files);
  const Time now = uploads_.clock_.now();
  committed_ = true;
  auto commit = uploads_.store_.stage_uploads(workspace_, std::move(done_), terms(uploads_.clock_.lifetime_start()),
                                              now, std::move(claim));
  commit.then([&events = uploads_.events_, refused = refused_](const Answer& staged) {
    *refused = !staged.has_value();
    if (!staged) return;
    for (const StagedUpload& item : *staged) events.staged(item);
  });
  return commit;
}

}  // namespace restante::desk
