// The rules of uploads that all backends share: how a row is made, how it is counted, and which inbox rows it gets.
// Values only.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/inbox_row.h"
#include "model/upload.h"
#include "model/upload_stats.h"

namespace restante {

// Counts of the uploads of a workspace, or a change of these counts: take() a row as it was, add() it as it is now.
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

// A row that will be inserted, with everything that can be computed before the writer runs.
struct NewUploadRow {
  NewUploadRow(WorkspaceId workspace, NewUpload item, const StagingTerms& terms, Time now);
  Upload upload;
  std::string content;
  InboxRowId activity_id;
  NewInboxRow arrival;  // empty for an outgoing upload
};

// quota_exceeded when `more` does not fit.
Result<void> require_quota(const UploadTally& unacked, const UploadQuota& quota, const UploadTally& more);

// What a report that the agent could not take the file changes. An agent may report ever new reasons: the last one is
// kept, but a receipt is appended only for the first, and later when a third of the file's age has passed since the
// last receipt, and at least a second. So one file gets about 40 receipts in a day, and no more than 8 in the next
// week.
enum class FailureEffect { none, reason_alone, receipt };
FailureEffect effect_of_failure(const Upload& was, std::string_view reason, Time now);

// Whether the file may be sent to another workspace. An outgoing file must not be expired or damaged. A file that is
// sent again must have come from its sender, and must still be stored. `source` is its row, null when there is none.
// attachment_gone.
Result<void> require_source(const OutgoingFile& file, const Upload* source, Time now);

}  // namespace restante
