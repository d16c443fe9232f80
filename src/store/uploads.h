// UploadStore: files that wait for an agent, or that an agent sends.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/commit.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/idempotency.h"
#include "model/token.h"
#include "model/upload.h"
#include "model/upload_stats.h"
#include "store/appended.h"

namespace restante {

struct StagedUpload {
  Upload upload;
  Appended row;  // its inbox row; an outgoing upload has none: seq is 0
};

// An upload after the call, and the receipt that was appended to the inbox; no receipt when nothing changed.
struct UploadChange {
  Upload upload;
  std::optional<Appended> receipt;
};

struct SweptUploads {
  std::int64_t acked = 0;
  std::vector<UploadChange> expired;  // outgoing ones have no receipt
  bool more = false;                  // the limit was reached: more uploads may be due
};

class UploadStore {
 public:
  virtual ~UploadStore() = default;

  // False when the tables of uploads do not exist yet (migrate = false). Then these methods and those of dropped blobs
  // answer as if no file had ever been staged: staging is no_callback, a file is upload_gone or attachment_gone, lists
  // are empty. The tables of delegations, blob moves, blob checks, chunks and installations are newer: their methods
  // throw Unavailable. Everything else works.
  virtual bool uploads_ready() const = 0;
  // Adds every item in order, with one inbox row for each incoming one, or nothing at all. The content is already in
  // Places or in the item: a row promises that its content can be read. Does nothing for an empty list. quota_exceeded,
  // counting all uploads of the workspace in both directions that are not acked; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<std::vector<StagedUpload>>> stage_uploads(
      WorkspaceId workspace, std::vector<NewUpload> items, const StagingTerms& terms, Time now,
      OptionalClaim<std::vector<StagedUpload>> claim = {}) = 0;
  // upload_gone when absent or staged for another workspace. Also finds acked, expired and outgoing ones: the caller
  // decides who may see them. Without the content.
  virtual Result<Upload> find_upload(WorkspaceId workspace, FileId id) = 0;
  // The same with `content`, if the row keeps it.
  virtual Result<Upload> read_upload(WorkspaceId workspace, FileId id) = 0;
  // Also the status of deleted uploads, for as long as inbox rows are kept. upload_gone.
  virtual Result<UploadStatus> find_upload_status(WorkspaceId workspace, FileId id, Time now) = 0;
  // An outgoing file with this digest that is not expired and not damaged; of several the one that expires last.
  virtual std::optional<Upload> find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) = 0;
  // Incoming, unacked and unexpired ones, oldest first, after `after` when given.
  virtual std::vector<Upload> list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) = 0;
  // One group, in the order of expiry; the acked ones in the order of their acks.
  virtual std::vector<Upload> list_uploads(const UploadFilter& filter, Time now) = 0;
  // Every row in any state, ordered by id, to go through all of them. `after` may have been deleted meanwhile.
  virtual std::vector<Upload> walk_uploads(std::optional<FileId> after, int limit) = 0;
  // Exact figures; those of all workspaces are of one moment, those of a page of another. Reads the stored counts; only
  // overdue and damaged rows are counted one by one. The total costs the same whatever the number of workspaces.
  virtual AllUploadStats upload_stats(Time now, const UploadStatsPage& page = {}) = 0;
  // fetched_at moves to `now` unless the row is acked or outgoing.
  virtual Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) = 0;
  // The first ack sets acked_at and appends the receipt; a repeated one changes nothing. upload_gone past expires_at,
  // when absent, outgoing, or of another workspace.
  virtual Commit<Result<UploadChange>> ack_upload(WorkspaceId workspace, FileId id, Moment at) = 0;
  // The agent could not take the file: sets failed_at and the reason (cut to kMaxReasonBytes) and appends a receipt.
  // The upload stays until it expires, and a later ack wins. The same reason again, no reason, or a damaged upload
  // changes nothing; another reason soon after changes the reason alone (effect_of_failure() in model/upload_rules.h).
  // upload_gone as for an ack, and when acked.
  virtual Commit<Result<UploadChange>> fail_upload(WorkspaceId workspace, FileId id, std::string reason, Moment at) = 0;
  // The content is not what was staged: marks the row, and all rows that share the blob, as damaged for as long as they
  // exist. Those that an agent still waits for become failed, with sentence_of() as the reason and a receipt. Returns
  // the marked rows ordered by id; none when the damage was known. upload_gone when absent or of another workspace.
  virtual Commit<Result<std::vector<UploadChange>>> mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                                 Time now) = 0;
  // Deletes the row and appends a receipt unless the upload is outgoing. `recalled_by` must be the token that staged
  // it; without one any upload may be recalled. upload_already_acked; upload_gone when absent, expired, of another
  // workspace or another sender.
  virtual Commit<Result<UploadChange>> recall_upload(WorkspaceId workspace, FileId id,
                                                     std::optional<TokenId> recalled_by, Moment at) = 0;
  // One bounded step: deletes acked rows older than the retention and unacked ones past expires_at, the longest due
  // first, at most `limit` together. Expired ones get a receipt. When nothing is due it costs two index lookups.
  virtual Commit<Result<SweptUploads>> sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) = 0;
};

}  // namespace restante
