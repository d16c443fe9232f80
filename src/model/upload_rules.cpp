#include "model/upload_rules.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "model/errors.h"
#include "model/inbox_messages.h"

namespace restante {

void UploadTallies::count(const Upload& upload, int by) {
  const auto move = [&](UploadTally& tally) {
    tally.files += by;
    tally.bytes += by * upload.size;
  };
  move(staged);
  if (upload.direction == UploadDirection::out) {
    move(outgoing);
  } else if (upload.acked_at) {
    move(acked);
  } else if (upload.failed_at) {
    move(failed);
  } else if (upload.fetched_at) {
    move(fetched);
  }
}

NewUploadRow::NewUploadRow(WorkspaceId workspace, NewUpload item, const StagingTerms& terms, Time now)
    : content(std::exchange(item.content, {})), activity_id(InboxRowId::make(now)) {
  if (terms.direction == UploadDirection::in) arrival = arrival_of(workspace, item, terms);
  static_cast<NewUpload&>(upload) = std::move(item);
  upload.workspace_id = workspace;
  upload.direction = terms.direction;
  upload.staged_by = terms.staged_by;
  upload.created_at = now;
  upload.expires_at = terms.expires_at;
}

Result<void> require_quota(const UploadTally& unacked, const UploadQuota& quota, const UploadTally& more) {
  const bool fits = (quota.max_bytes == 0 || unacked.bytes + more.bytes <= quota.max_bytes) &&
                    (quota.max_files == 0 || unacked.files + more.files <= quota.max_files);
  if (fits) return {};
  std::vector<Fact> facts{{"staged_bytes", unacked.bytes}, {"staged_files", unacked.files}};
  if (quota.max_bytes != 0) facts.push_back({"max_bytes", quota.max_bytes});
  if (quota.max_files != 0) facts.push_back({"max_files", quota.max_files});
  return Error(errors::quota_exceeded, std::move(facts));
}

FailureEffect effect_of_failure(const Upload& was, std::string_view reason, Time now) {
  if (!was.failed_at) return FailureEffect::receipt;
  if (reason.empty() || reason == was.reason) return FailureEffect::none;
  constexpr Time::duration kShortest = std::chrono::seconds(1);
  const bool due = now - *was.failed_at >= std::max(kShortest, (*was.failed_at - was.created_at) / 3);
  return due ? FailureEffect::receipt : FailureEffect::reason_alone;
}

Result<void> require_source(const OutgoingFile& file, const Upload* source, Time now) {
  Error gone(errors::attachment_gone, {{"file_id", file.source.text()}});
  const bool lives = source && source->state(now) != UploadState::expired;
  const bool sent = file.sent_by && lives && source->source_id == file.sent_by;
  const bool outgoing = !file.sent_by && lives && source->direction == UploadDirection::out;
  if (file.sent_by && !sent) {
    return std::move(gone).with_sentence(
        "a file that came with the task is no longer kept here, or was never sent by the task's caller: give the "
        "task again with the file, sent again, or without files");
  }
  if (!sent && !outgoing) return gone;
  if (source->damage) return std::move(gone).with_sentence(std::string(sentence_of(*source->damage)));
  return {};
}

}  // namespace restante
