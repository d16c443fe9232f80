// Transaction runs a group of verbs as one database transaction. begin() locks and reads everything that the verbs
// named in their WriteHints, in one round trip. Changes of heads, inbox rows and uploads are collected here and written
// in one round trip at the end, together with the COMMIT. A verb sees the changes of the verbs before it. The head of a
// workspace is its row in inbox_heads; a verb that writes anything of a workspace has its head locked. Belongs to the
// lane's thread. Throws what failures.h lists.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/idempotency.h"
#include "model/message.h"
#include "model/upload_rules.h"
#include "store/postgres/cache/change_set.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/lanes/bulk.h"
#include "store/store.h"

namespace restante::postgres {

struct Head {
  std::int64_t last_seq = 0;
  Time last_created_at;
  UploadTallies uploads;
  bool removed = false;  // the workspace is removed
};

// What a verb will lock and read, as far as it is known before the verb runs.
struct WriteHints {
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

// Identifies one commit of one writer of one server: see commit_marks.
struct CommitMark {
  Uuid instance;
  WorkspaceId writer;  // the id of a lane; any unique id
  std::int64_t number = 0;
};

class Transaction {
 public:
  explicit Transaction(Connection& connection);

  void begin(const CommitMark& mark, std::span<const WriteHints* const> hints);
  // Writes all collected changes and commits. When this throws Lost, the COMMIT may or may not have taken effect.
  void commit();
  // The number of changes so far.
  std::size_t changes() const { return changes_; }
  // Counts a change that the verb made by its own statements.
  void changed() { ++changes_; }
  // What other servers are notified of when this is committed.
  ChangeSet& change_set() { return change_set_; }

  // For a verb's own statements; the collected changes are sent before them.
  Connection& connection();
  // The same for a statement that changes rows: it runs at the latest with the COMMIT.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    ++changes_;
    connection().send(sql, args...);
  }
  // How many rows it changed.
  template <class... Args>
  std::int64_t change(std::string_view sql, const Args&... args) {
    const auto count = connection().query(sql, args...).affected();
    changes_ += static_cast<std::size_t>(count);
    return count;
  }

  // Locks heads in the order of their ids. Only once, or before anything else is locked.
  void lock(std::vector<WorkspaceId> workspaces);
  // For a workspace that was just created.
  void make_head(WorkspaceId workspace);
  // For a workspace that is removed; the row stays.
  void remove_head(WorkspaceId workspace);
  // Null when there is none.
  const Head* head(WorkspaceId workspace);
  // workspace_not_found. find_living_head(): also workspace_removed, for verbs that add something.
  Result<const Head*> find_head(WorkspaceId workspace);
  Result<const Head*> find_living_head(WorkspaceId workspace);
  // The time of the next row: the clock's time, or the last row's if the clock went back.
  static Time next_time(const Head& head, Time now) { return std::max(now, head.last_created_at); }

  // For these the workspace has a head, and it is locked.
  Appended append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& activity);
  UploadTallies& tallies(WorkspaceId workspace);
  void touch(WorkspaceId workspace, Time at);

  // The row of a message that the verb named in its hints, if it was appended before and has not been pruned.
  std::optional<Appended> find_repeated(WorkspaceId workspace, const Message& message);
  Appended append_message(WorkspaceId workspace, Time at, const Message& message);

  // Null when there is none. Reliable only while its workspace's head is locked.
  const Upload* upload(FileId id);
  // Uploads that were read before their head was locked are read again.
  void forget_uploads() { uploads_.clear(); }
  void insert(const Upload& upload, std::string_view content);
  void update(const Upload& upload);
  // Deletes the rows, keeps them as finished uploads, and lists their blobs as dropped if no other row names them.
  void remove(std::span<const Upload> uploads, UploadState outcome, Time now);
  // Lists those keys as dropped that no row names.
  void drop_unless_needed(const Array& keys, Time now);

  // The answer stored under a claim that the verb named in its hints, if it exists and has not expired.
  // idempotency_mismatch.
  Result<std::optional<std::string>> find_claim(const Claim& claim, Time now);
  void keep_claim(const Claim& claim, const std::string& answer);

 private:
  struct Answered {
    Digest request;
    std::string answer;
    Time expires_at;
  };
  using MessageKey = std::pair<WorkspaceId, Digest>;

  void read_heads(const Rows& heads, const Rows& removed);
  void read_uploads(const Rows& rows);
  void read_claims(const Rows& rows);
  void read_messages(const Rows& rows);
  // Queues the collected changes, in an order in which no statement depends on a later one.
  void flush();
  void flush_uploads();
  void flush_heads();
  Head& held(WorkspaceId workspace);

  Connection& connection_;
  std::size_t changes_ = 0;
  bool lazily_ = false;
  Uuid instance_;
  ChangeSet change_set_;

  // What was read; an empty value means that there is no such row.
  std::unordered_map<WorkspaceId, std::optional<Head>> heads_;
  std::unordered_map<FileId, std::optional<Upload>> uploads_;
  std::map<Digest, std::optional<Answered>> claims_;
  std::map<MessageKey, std::optional<Appended>> messages_;

  // The collected changes.
  std::set<WorkspaceId> changed_heads_;
  std::vector<FileId> new_uploads_;
  std::set<FileId> changed_uploads_;
  Bulk contents_;
  Bulk activities_;
  Bulk message_keys_;
  Bulk claim_rows_;
};

// For under_claim().
inline Result<std::optional<std::string>> find_claim(Transaction& transaction, const Claim& claim, Time now) {
  return transaction.find_claim(claim, now);
}
inline void keep_claim(Transaction& transaction, const Claim& claim, const std::string& answer) {
  transaction.keep_claim(claim, answer);
}
template <class T>
std::optional<Digest> scope_of(const OptionalClaim<T>& claim) {
  if (!claim) return std::nullopt;
  return claim->claim.scope;
}

}  // namespace restante::postgres
