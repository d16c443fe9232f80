// Staging: the files of one request on their way in. Bytes first, then the rows in one verb; a Staging that is not
// committed leaves nothing. A small file stays in memory and goes into its row; a larger one goes to Places from the
// moment it no longer fits. Belongs to one request, one thread at a time; Uploads makes it and outlives it. Throws
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
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // too_many_files beyond the limit.
  Result<void> begin_file(std::string_view raw_name, std::string_view raw_type);
  // file_too_large as soon as it is; insufficient_storage when the disk has filled up meanwhile.
  Result<void> write(std::string_view bytes);
  // empty_file when nothing came; a nameless empty one is what browsers send when nothing was chosen, and is skipped.
  Result<void> end_file();

  // What has come, in order, for telling one request from another: equal for equal (name, type, size, sha256).
  Digest digest() const;
  // Whether any file is kept outside of memory, so that giving up takes a disk.
  bool on_disk() const;

  // One of these, once. no_files when there is none; quota_exceeded, workspace_removed.
  Commit<Result<std::vector<StagedUpload>>> commit();
  Commit<Result<Claimed<std::vector<StagedUpload>>>> commit_once(const Claim& claim,
                                                                 Render<std::vector<StagedUpload>> render);
  // The commit was answered with a refusal, or with what was staged before: these bytes belong to nobody.
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
