// The life of an upload as far as every backend tells it alike: how a row is made, how it counts, and what is written
// to the log about it. Values only.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/inbox_row.h"
#include "model/upload.h"
#include "model/upload_stats.h"

namespace restante {

// How the uploads of a workspace count; or by how much that changes: say how a row counted before and how it counts
// after.
struct UploadTallies {
  UploadTally staged;
  UploadTally fetched;
  UploadTally failed;
  UploadTally acked;
  UploadTally outgoing;

  void add(const Upload& upload) { count(upload, 1); }
  void take(const Upload& upload) { count(upload, -1); }
  // What the quota limits.
  UploadTally unacked() const { return {staged.files - acked.files, staged.bytes - acked.bytes}; }

 private:
  void count(const Upload& upload, int by);
};

// A row that is about to be made, with what can be computed before a writer's turn.
struct NewUploadRow {
  NewUploadRow(WorkspaceId workspace, NewUpload item, const StagingTerms& terms, Time now);
  Upload upload;
  std::string content;
  InboxRowId activity_id;
  NewInboxRow arrival;  // left empty for an outgoing one
};

// quota_exceeded when so much more does not fit.
Result<void> require_quota(const UploadTally& unacked, const UploadQuota& quota, const UploadTally& more);

// Whether a failure for this reason is no news: it has failed, and for the same one, or none is given that could be
// another.
bool already_failed_with(const Upload& failed, std::string_view reason);

// Whether the file may go to somebody else: an outgoing one lives and is sound; one that is sent again came from its
// sender, and its bytes are still here. `source` is its row, null when there is none. attachment_gone.
Result<void> require_source(const OutgoingFile& file, const Upload* source, Time now);

// chat_upload_<outcome>.
NewInboxRow receipt_of(const Upload& upload, UploadState outcome);

}  // namespace restante
