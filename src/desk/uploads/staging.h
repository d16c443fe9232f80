// Staging receives the files of one request. It writes the content first, then all rows in one verb; without a commit
// nothing remains. A small file stays in memory and is stored in its row; a larger one is written to Places as soon as
// it does not fit into a row. Belongs to one request, one thread at a time; Uploads makes it and outlives it. Throws
// StorageFull and Unavailable like the places it writes to.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/idempotency.h"
#include "model/principal.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

class Uploads;

class Staging {
 public:
  Staging(Uploads& uploads, WorkspaceId workspace, UploadDirection direction, const Principal& caller);
  ~Staging();

  // too_many_files beyond the limit.
  Result<void> begin_file(std::string_view raw_name, std::string_view raw_type);
  // file_too_large as soon as that is known; insufficient_storage when the disk has filled up meanwhile.
  Result<void> write(std::string_view bytes);
  // empty_file when it has no content. A nameless empty file is skipped: browsers send it when no file was chosen.
  Result<void> end_file();

  // The digest of all files (name, type, size, sha256), in order. Equal requests have equal digests.
  Digest digest() const;
  // Whether a file is stored outside of memory, so that give_up() has to use a disk.
  bool on_disk() const;

  // Call it once. no_files when there is none; quota_exceeded, workspace_removed.
  Commit<Result<std::vector<StagedUpload>>> commit(OptionalClaim<std::vector<StagedUpload>> claim = {});
  // When the commit was refused, or answered with earlier uploads: deletes the blobs, which no row names. Else it does
  // nothing. Does not throw: the sweep deletes what it cannot delete. The destructor does the same; call it where the
  // thread may wait for a disk.
  void give_up();

 private:
  struct File;
  StagingTerms terms(Time start) const;

  Uploads& uploads_;
  const WorkspaceId workspace_;
  const UploadDirection direction_;
  const std::optional<TokenId> staged_by_;
  const bool by_agent_;
  std::unique_ptr<File> open_;
  std::vector<NewUpload> done_;
  std::vector<std::string> keys_;  // of done_, in Places
  bool committed_ = false;
  // Set by the commit, which may outlive this object.
  const std::shared_ptr<std::atomic<bool>> refused_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace restante::desk
