// SqlTransaction: what a verb that writes gets. It runs the verb's own statements, and it has the changes that many
// verbs make: rows of an inbox, uploads, claims. Both databases implement it.
//
// The head of a workspace is its row in inbox_heads. A verb that writes anything of a workspace has its head locked;
// it names the head in its WriteHints, or calls lock(). Changes of heads are collected, perhaps other changes too:
// SQLite writes them when the verb has succeeded, PostgreSQL before the verb's own next statement or with the COMMIT.
// So a verb does not read last_seq or the counts of uploads by a statement of its own. Belongs to the writer's thread.
//
// What only several servers on one database need does nothing in SQLite, which has one writer: locks, `FOR UPDATE` at
// the end of a text, and the announcements to other servers.
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/errors.h"
#include "model/idempotency.h"
#include "model/message.h"
#include "model/upload_rules.h"
#include "store/appended.h"
#include "store/sql/reader.h"

namespace restante {

// What a verb will lock and read, as far as it is known before the verb runs. SQLite does not need it.
struct WriteHints {
  // The verbs of one workspace run in the order in which they were submitted, in the lane of its id. Without it: the
  // maintenance lane, for work on many workspaces.
  std::optional<Uuid> lane{};
  std::vector<WorkspaceId> heads{};
  std::vector<FileId> uploads{};
  std::optional<Digest> claim{};
  std::optional<std::pair<WorkspaceId, Digest>> message{};
  // The verb locks rows that it cannot name before it runs. It gets its own transaction, so that it holds no other
  // locks while it waits.
  bool alone = false;
  // The change need not be durable when it is answered: a later verb checks that it is there before it relies on it. A
  // later COMMIT of any session makes it durable, because the write-ahead log has one order. Applies only when all
  // verbs of a group set it.
  bool lazily = false;
};

// For a verb that changes one workspace.
inline WriteHints hints_for(WorkspaceId workspace) { return {.lane = workspace.uuid(), .heads = {workspace}}; }
// For a verb that locks rows of its own choice, in the maintenance lane.
inline WriteHints maintenance_hints() { return {.alone = true}; }

template <class T>
std::optional<Digest> scope_of(const OptionalClaim<T>& claim) {
  if (!claim) return std::nullopt;
  return claim->claim.scope;
}

struct Head {
  std::int64_t last_seq = 0;
  Time last_created_at;
  std::int64_t acked_seq = 0;
  UploadTallies uploads;
  bool removed = false;  // the workspace is removed
};

// Another transaction was faster (in PostgreSQL: deadlock, serialisation failure, lock timeout): nothing was changed,
// try again.
class Conflict : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

class SqlTransaction : public SqlReader {
 public:
  // Runs a statement. PostgreSQL may run it as late as with the COMMIT: that costs no round trip.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    run_values(sql, sql_values(args...));
  }
  // The same, at once. Returns how many rows it changed.
  template <class... Args>
  std::int64_t change(std::string_view sql, const Args&... args) {
    return change_values(sql, sql_values(args...));
  }
  // The same for a statement with RETURNING: what `read` makes of the rows that it changed.
  template <class Read, class... Args>
  auto change_rows(Read read, std::string_view sql, const Args&... args) {
    auto rows = select(read, sql, args...);
    if (!rows.empty()) changed();
    return rows;
  }

  // Locks heads, in the order of their ids. Only once, or before anything else is locked.
  virtual void lock(std::vector<WorkspaceId> /*workspaces*/) {}
  // Until the end of the transaction no other one writes to the table.
  virtual void lock_table(std::string_view /*table*/) {}
  // Until the end of the transaction no other one gets the lock of this number.
  virtual void lock_number(std::int64_t /*number*/) {}

  // Null when there is none.
  virtual const Head* head(WorkspaceId workspace) = 0;
  // workspace_not_found. find_living_head(): also workspace_removed, for verbs that add something.
  Result<const Head*> find_head(WorkspaceId workspace) {
    const Head* found = head(workspace);
    if (!found) return errors::workspace_not_found;
    return found;
  }
  Result<const Head*> find_living_head(WorkspaceId workspace) {
    auto found = find_head(workspace);
    if (found && (*found)->removed) return errors::workspace_removed;
    return found;
  }
  // The time of the next row: the clock's time, or the last row's if the clock went back.
  static Time next_time(const Head& head, Time now) { return std::max(now, head.last_created_at); }
  // For a workspace that was just created.
  virtual void make_head(WorkspaceId workspace) = 0;
  // For a workspace that is removed; the row stays.
  virtual void remove_head(WorkspaceId workspace) = 0;

  // For these the workspace has a head, and it is locked.
  virtual Appended append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& row) = 0;
  virtual Appended append_message(WorkspaceId workspace, Time at, const Message& message) = 0;
  virtual void set_acked(WorkspaceId workspace, std::int64_t seq) = 0;
  virtual UploadTallies& tallies(WorkspaceId workspace) = 0;
  virtual void touch(WorkspaceId workspace, Time at) = 0;
  // Counts an upload as it is instead of as it was.
  virtual void recount(const Upload& was, const Upload& is) {
    UploadTallies& counts = tallies(is.workspace_id);
    counts.take(was);
    counts.add(is);
  }
  // The row of a message that the verb named in its hints, if it was appended before and has not been pruned.
  virtual std::optional<Appended> find_repeated(WorkspaceId workspace, const Message& message) = 0;

  // Without its content. Null when there is none. Reliable only while its workspace's head is locked.
  virtual const Upload* upload(FileId id) = 0;
  // Uploads that were read before their head was locked are read again.
  virtual void forget_uploads() {}
  // `content` of an upload that is stored in its row; otherwise empty.
  virtual void insert(const Upload& upload, std::string_view content) = 0;
  // The same with a copy of the content of another upload, if that is stored in its row.
  virtual void insert_copy(const Upload& upload, const Upload& source) = 0;
  // Writes fetched_at, acked_at, failed_at, reason and damage of an upload that the verb has read.
  virtual void update(const Upload& upload) = 0;
  // Deletes the rows, keeps them as finished uploads, and lists their blobs as dropped if no other row names them.
  virtual void remove(std::span<const Upload> uploads, UploadState outcome, Time now) = 0;
  // Lists those keys as dropped that no row names.
  virtual void drop_unless_needed(const std::vector<std::string>& keys, Time now) = 0;

  // The answer stored under a claim that the verb named in its hints, if it exists and has not expired.
  // idempotency_mismatch.
  virtual Result<std::optional<std::string>> find_claim(const Claim& claim, Time now) = 0;
  virtual void keep_claim(const Claim& claim, const std::string& answer) = 0;

  // Deletes the marks in commit_marks of servers that no longer run.
  virtual void prune_marks() {}
  // Adds up what sessions have counted that no longer run.
  virtual void merge_totals() {}

  // Announced to the other servers with the COMMIT.
  virtual void announce_changed(WorkspaceId /*workspace*/) {}
  virtual void announce_pruned(WorkspaceId /*workspace*/) {}
  virtual void announce_revoked(TokenId /*token*/) {}

 protected:
  ~SqlTransaction() = default;

 private:
  virtual void run_values(std::string_view sql, std::span<const SqlValue> values) = 0;
  virtual std::int64_t change_values(std::string_view sql, std::span<const SqlValue> values) = 0;
  // Counts a change that a verb made by its own statement.
  virtual void changed() {}
};

// For under_claim().
inline Result<std::optional<std::string>> find_claim(SqlTransaction& transaction, const Claim& claim, Time now) {
  return transaction.find_claim(claim, now);
}
inline void keep_claim(SqlTransaction& transaction, const Claim& claim, const std::string& answer) {
  transaction.keep_claim(claim, answer);
}

// The answer that is kept under a claim, on any connection. Nothing when the claim is unused or has expired.
// idempotency_mismatch.
Result<std::optional<std::string>> find_kept_answer(SqlReader& reader, const Claim& claim, Time now);  // claims.cpp

}  // namespace restante
