// Uploads: files on their way to an agent. Staging writes bytes first, then the rows in one verb; a Staging that is not
// committed leaves nothing. Uploads is thread-safe; a Staging belongs to one request.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/news.h"
#include "model/principal.h"
#include "store/blobs.h"
#include "store/store.h"

namespace restante::desk {

struct UploadRules {
  std::uint64_t per_file_bytes = kMaxFileBytes;
  std::uint64_t per_request_bytes = 128ull << 20;
  unsigned max_files = 64;
  std::chrono::seconds ttl{86'400};
};

class Uploads;

// The files of one request, one after the other.
class Staging {
 public:
  Staging(Uploads& uploads, WorkspaceId workspace);
  ~Staging();

  // too_many_files beyond the limit.
  Result<void> begin_file(std::string_view raw_name, std::string_view raw_type);
  // file_too_large as soon as it is.
  Result<void> write(std::string_view bytes);
  // empty_file when nothing came; a nameless empty one is what browsers send when nothing was chosen, and is skipped.
  Result<void> end_file();
  // no_files when there is none.
  Commit<Result<std::vector<StagedUpload>>> commit();

 private:
  struct File;
  Uploads& uploads_;
  const WorkspaceId workspace_;
  std::unique_ptr<File> open_;
  std::vector<NewUpload> done_;
  bool committed_ = false;
};

struct OpenUpload {
  Upload upload;
  std::shared_ptr<OpenBlob> blob;
};

class Uploads {
 public:
  Uploads(Store& store, Blobs& blobs, News& news, const Clock& clock, Log& log, Metrics& metrics, UploadRules rules)
      : store_(store), blobs_(blobs), news_(news), clock_(clock), log_(log), metrics_(metrics), rules_(rules) {}

  const UploadRules& rules() const { return rules_; }
  // workspace_not_found, workspace_removed; no_callback for one that is not in poll mode.
  Result<std::unique_ptr<Staging>> stage(WorkspaceId id);
  // The bytes, for its agent until acked or expired, for people until swept. upload_gone.
  Result<OpenUpload> open(const Principal& caller, WorkspaceId workspace, FileId id);
  // The agent itself has asked for the bytes: a sign on the life line, not a delivery.
  void note_fetched(const Upload& upload);
  Commit<Result<Upload>> ack(WorkspaceId workspace, FileId id);
  // Where the file is on its way, also when its bytes are out of reach. upload_gone when absent or foreign.
  Result<Upload> find(WorkspaceId workspace, FileId id) { return store_.find_upload(workspace, id); }
  std::vector<Upload> waiting(WorkspaceId workspace, std::optional<FileId> after, int limit) {
    return store_.list_waiting(workspace, after, limit, clock_.now());
  }
  Time now() const { return clock_.now(); }

 private:
  friend class Staging;
  Store& store_;
  Blobs& blobs_;
  News& news_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const UploadRules rules_;
};

}  // namespace restante::desk
