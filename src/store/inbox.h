// InboxStore: the rows of each workspace, in one order.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/idempotency.h"
#include "model/inbox_row.h"
#include "model/named_files.h"
#include "model/upload.h"
#include "store/uploads.h"

namespace restante {

struct InboxHead {
  std::int64_t last_seq = 0;
  std::int64_t acked_seq = 0;
  Time last_created_at;
};

// A message and the files that came with it. For a repeated message `files` is empty: they were staged the first time.
struct SentMessage {
  Appended row;
  std::vector<StagedUpload> files;
};

// What a step of prune() did.
struct Pruned {
  std::int64_t rows = 0;               // that it deleted
  bool more = false;                   // there may be more to do
  std::optional<WorkspaceId> after{};  // for the next step; none: from the first workspace
};

struct Epoch {
  std::int64_t inboxes = 0;
  bool clock_is_behind = false;  // larger numbers were given already than the clock allows; it began above them
};

class InboxStore {
 public:
  virtual ~InboxStore() = default;

  // Appends one row to the workspace's inbox. Within a workspace seq grows in commit order, and created_at never
  // decreases with growing seq. workspace_not_found, workspace_removed.
  virtual Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                                   OptionalClaim<Appended> claim = {}) = 0;
  // The same with files. Each must be an outgoing file of its owner that is not expired and not damaged
  // (attachment_gone). It is staged for `workspace` under its new id and shares the blob; its own inbox row comes
  // before the message. The body already names the new ids; to detect a repeated message, the source ids are put back
  // in their place. The direction of `terms` is ignored. quota_exceeded.
  virtual Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& row,
                                                                 std::vector<OutgoingFile> files,
                                                                 const StagingTerms& terms, Time now,
                                                                 OptionalClaim<SentMessage> claim = {}) = 0;
  // Sets the acked seq: only forward, never beyond the head. Returns the value now. workspace_not_found.
  virtual Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) = 0;
  virtual Result<InboxHead> find_head(WorkspaceId workspace) = 0;
  // One bounded step of retention. Looks at the next inboxes after `after`, some hundred at once and not on a writer.
  // Deletes inbox rows older than `before` with their message keys, one workspace after the other, but keeps
  // a2a_receive rows that were not acked and are younger than `ceiling`. Deletes expired claims, tokens that ended
  // kDeadTokensStay ago, the status of uploads that ended before `before`, and delegations that ended before it. `rows`
  // does not count claims and tokens.
  virtual Commit<Result<Pruned>> prune(Time before, Time ceiling, Time now, int limit,
                                       std::optional<WorkspaceId> after = {}) = 0;
  // After an older copy of the database was restored: the next row of every inbox gets a number that was never given,
  // also not to a row that the copy does not have (model/inbox_epoch.h). Call it before clients read.
  virtual Commit<Result<Epoch>> begin_epoch(Time now) = 0;
  // cursor_gone when the cursor names no row of this workspace or is above the head (since_seq = 0 always works).
  virtual Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) = 0;
  // The same for a query that filters: looks at `most` rows at the most, whatever it finds, so that its cost is
  // bounded.
  virtual Result<InboxStep> search_inbox(WorkspaceId workspace, const InboxQuery& query, int most) = 0;
  // Which of these files are named by a message that is still kept. Reads one key for each, whatever the size of the
  // inbox. Messages of 0.1.0 have no keys.
  virtual std::vector<FileId> find_named_files(WorkspaceId workspace, NamedBy by, const std::vector<FileId>& files) = 0;
};

}  // namespace restante
