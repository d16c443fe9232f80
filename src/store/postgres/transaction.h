// Transaction: what a group of verbs reads and writes, as one. What the verbs said they will need is locked and read in
// one round trip at the beginning; what they do to heads, logs and uploads gathers here and is written in one at the
// end, together with the COMMIT. Everything a verb asks for shows what verbs before it did. Whoever writes anything of
// a workspace holds its head. Belongs to its writer's thread. Throws what failures.h lists.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/idempotency.h"
#include "store/message.h"
#include "store/postgres/bulk.h"
#include "store/postgres/change_set.h"
#include "store/postgres/connection.h"
#include "store/store.h"
#include "store/upload_lifecycle.h"

namespace restante::postgres {

struct Head {
  std::int64_t last_seq = 0;
  Time last_created_at;
  UploadTallies uploads;
  bool removed = false;  // its workspace
};

// What a verb will ask for, as far as it knows before its turn.
struct WriteHints {
  std::vector<WorkspaceId> heads{};
  std::vector<FileId> uploads{};
  std::optional<Digest> claim{};
  std::optional<std::pair<WorkspaceId, Digest>> message{};
  // It locks what it cannot know before, and so must not hold anything while it waits.
  bool alone = false;
  // It need not be durable when it is answered: somebody looks whether it is there before relying on it, and a later
  // COMMIT, of whichever session, makes it durable, since the log has one order. Only what all of a group want so.
  bool lazily = false;
};

// Who commits, for which server, and as the how manieth: see commit_marks.
struct CommitMark {
  Uuid instance;
  WorkspaceId writer;  // an id like any other
  std::int64_t number = 0;
};

class Transaction {
 public:
  explicit Transaction(Connection& connection);

  void begin(const CommitMark& mark, std::span<const WriteHints* const> hints);
  // Everything that gathered, and the end. When this throws Lost, it may have happened or not.
  void commit();
  // How much was changed so far.
  std::size_t changes() const { return changes_; }
  // Something was changed by statements of one's own.
  void changed() { ++changes_; }
  // What others are told when this is committed.
  ChangeSet& change_set() { return change_set_; }

  // For statements of one's own, after everything that gathered.
  Connection& connection();
  // The same for a statement that changes rows: at the latest with the COMMIT.
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
  // Of a workspace that has just come into being.
  void make_head(WorkspaceId workspace);
  // Of one whose workspace is removed; the row stays.
  void remove_head(WorkspaceId workspace);
  // Null where there is none.
  const Head* head(WorkspaceId workspace);
  // workspace_not_found; living: and workspace_removed, for what may not be added any more.
  Result<const Head*> find_head(WorkspaceId workspace);
  Result<const Head*> find_living_head(WorkspaceId workspace);
  // Of the next row: the clock's time, or the last row's if the clock went back.
  static Time next_time(const Head& head, Time now) { return std::max(now, head.last_created_at); }

  // These take a head that is there.
  Appended append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& activity);
  UploadTallies& tallies(WorkspaceId workspace);
  void touch(WorkspaceId workspace, Time at);

  // Where a message is that the verb wanted, if it was appended before and its row has not been pruned.
  std::optional<Appended> find_repeated(WorkspaceId workspace, const Message& message);
  Appended append_message(WorkspaceId workspace, Time at, const Message& message);

  // Null where there is none. Its workspace's head must be held to rely on it.
  const Upload* upload(FileId id);
  // What was read before its head was held is read again.
  void forget_uploads() { uploads_.clear(); }
  void insert(const Upload& upload, std::string_view content);
  void update(const Upload& upload);
  // Deletes rows, keeps their stories, and lists the bytes as dropped if no other row needs them.
  void remove(std::span<const Upload> uploads, UploadState outcome, Time now);
  // Lists those that no row names.
  void drop_unless_needed(const Array& keys, Time now);

  // The answer that was given under a claim that the verb wanted, if it was used and has not expired.
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
  // What gathered is queued, in an order in which nothing waits for what comes later.
  void flush();
  void flush_uploads();
  void flush_heads();
  Head& held(WorkspaceId workspace);

  Connection& connection_;
  std::size_t changes_ = 0;
  bool lazily_ = false;
  Uuid instance_;
  ChangeSet change_set_;

  // What is known; an empty one is known not to be there.
  std::unordered_map<WorkspaceId, std::optional<Head>> heads_;
  std::unordered_map<FileId, std::optional<Upload>> uploads_;
  std::map<Digest, std::optional<Answered>> claims_;
  std::map<MessageKey, std::optional<Appended>> messages_;

  // What gathered.
  std::set<WorkspaceId> changed_heads_;
  std::vector<FileId> new_uploads_;
  std::set<FileId> changed_uploads_;
  Bulk contents_;
  Bulk activities_;
  Bulk message_keys_;
  Bulk claim_rows_;
};

// Runs `effect` unless the claim was used before, and keeps what `render` makes of it.
template <class T, class Effect>
Result<Claimed<T>> once(Transaction& transaction, const Claim& claim, Time now, const Render<T>& render,
                        Effect effect) {
  auto known = transaction.find_claim(claim, now);
  if (!known) return known.error();
  if (*known) return Claimed<T>{std::nullopt, std::move(**known)};
  Result<T> made = effect();
  if (!made) return made.error();
  transaction.keep_claim(claim, render(*made));
  return Claimed<T>{std::move(*made), {}};
}

}  // namespace restante::postgres
