// Staging receives the files of one request. It writes the content first, then all rows in one verb; without a commit
// nothing remains. A small file stays in memory and is stored in its row; a larger one is written to Places as soon as
// it does not fit into a row. Belongs to one request, one thread at a time; Uploads makes it and outlives it. Throws
// StorageFull and Unavailable like the places it writes to.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/idempotency.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

class Uploads;

class Staging {
 public:
  Staging(Uploads& uploads, WorkspaceId workspace, UploadDirection direction, std::optional<TokenId> staged_by);
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
  // For a commit that was refused, or answered with earlier uploads: deletes the blobs, which no row names.
  void give_up();

 private:
  struct File;
  StagingTerms terms(Time now) const;

  Uploads& uploads_;
  const WorkspaceId workspace_;
  const UploadDirection direction_;
  const std::optional<TokenId> staged_by_;
  std::unique_ptr<File> open_;
  std::vector<NewUpload> done_;
  std::vector<std::string> keys_;  // of done_, in Places
  bool committed_ = false;
};

}  // namespace restante::desk
