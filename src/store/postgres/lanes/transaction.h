// Transaction runs a group of verbs as one database transaction. begin() locks and reads everything that the verbs
// named in their WriteHints, in one round trip. Changes of heads, inbox rows and uploads are collected here and written
// in one round trip at the end, together with the COMMIT. A verb sees the changes of the verbs before it. Belongs to
// the lane's thread. Throws what failures.h lists.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/postgres/cache/change_set.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/lanes/bulk.h"
#include "store/sql/transaction.h"

namespace restante::postgres {

// Identifies one commit of one writer of one server: see commit_marks.
struct CommitMark {
  Uuid instance;
  WorkspaceId writer;  // the id of a lane; any unique id
  std::int64_t number = 0;
};

class Transaction final : public SqlTransaction {
 public:
  explicit Transaction(Connection& connection);

  void begin(const CommitMark& mark, std::span<const WriteHints* const> hints);
  // Writes all collected changes and commits. When this throws Lost, the COMMIT may or may not have taken effect.
  void commit();
  // The number of changes so far.
  std::size_t changes() const { return changes_; }
  void changed() override { ++changes_; }
  ChangeSet& change_set() { return change_set_; }

  // For a verb's own statements; the collected changes are sent before them.
  Connection& connection();
  // As in SqlTransaction, also with arrays.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    ++changes_;
    connection().send(sql, args...);
  }
  template <class... Args>
  std::int64_t change(std::string_view sql, const Args&... args) {
    return count(connection().query(sql, args...));
  }

  const SqlDialect& dialect() const override { return connection_.dialect(); }
  void visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) override {
    connection().visit_rows(sql, values, visit);
  }
  void visit_rows_of(std::string_view sql, std::span<const SqlValue> keys, const VisitRowOf& visit) override {
    connection().visit_rows_of(sql, keys, visit);
  }
  void lock(std::vector<WorkspaceId> workspaces) override;
  void lock_table(std::string_view table) override;
  void lock_number(std::int64_t number) override;
  const Head* head(WorkspaceId workspace) override;
  void make_head(WorkspaceId workspace) override;
  void remove_head(WorkspaceId workspace) override;
  Appended append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& row) override;
  Appended append_message(WorkspaceId workspace, Time at, const Message& message) override;
  void set_acked(WorkspaceId workspace, std::int64_t seq) override;
  UploadTallies& tallies(WorkspaceId workspace) override { return held(workspace).uploads; }
  void touch(WorkspaceId workspace, Time at) override { held(workspace).last_created_at = at; }
  std::optional<Appended> find_repeated(WorkspaceId workspace, const Message& message) override;
  const Upload* upload(FileId id) override;
  void forget_uploads() override { uploads_.clear(); }
  void insert(const Upload& upload, std::string_view content) override;
  void insert_copy(const Upload& upload, const Upload& source) override;
  void update(const Upload& upload) override;
  void remove(std::span<const Upload> uploads, UploadState outcome, Time now) override;
  void drop_unless_needed(const std::vector<std::string>& keys, Time now) override;
  Result<std::optional<std::string>> find_claim(const Claim& claim, Time now) override;
  void keep_claim(const Claim& claim, const std::string& answer) override;
  // A server that was only suspended makes a new one.
  void prune_marks() override { run("DELETE FROM commit_marks WHERE marked_at < now() - interval '7 days'"); }
  void merge_totals() override;
  void announce_changed(WorkspaceId workspace) override { change_set_.changed.insert(workspace); }
  void announce_pruned(WorkspaceId workspace) override { change_set_.pruned.insert(workspace); }
  void announce_revoked(TokenId token) override { change_set_.revoked.insert(token); }

 private:
  struct Answered {
    Digest request;
    std::string answer;
    Time expires_at;
  };
  using MessageKey = std::pair<WorkspaceId, Digest>;

  void run_values(std::string_view sql, std::span<const SqlValue> values) override {
    ++changes_;
    connection().send_values(sql, values);
  }
  std::int64_t change_values(std::string_view sql, std::span<const SqlValue> values) override {
    return count(connection().query_values(sql, values));
  }
  // Counts the rows that a statement changed.
  std::int64_t count(const Rows& answer);
  void read_heads(const Rows& heads, const Rows& removed);
  void read_uploads(const Rows& rows);
  void read_claims(const Rows& rows);
  void read_messages(const Rows& rows);
  // Queues the collected changes, in an order in which no statement depends on a later one.
  void flush();
  void flush_uploads();
  void flush_heads();
  Head& held(WorkspaceId workspace);
  void keep_named(WorkspaceId workspace, const Digest& key, std::int64_t seq, Time at);

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
  std::set<MessageKey> named_;  // files whose keys are kept
  std::vector<FileId> new_uploads_;
  std::set<FileId> changed_uploads_;
  Bulk contents_;
  Bulk activities_;
  Bulk message_keys_;
  Bulk claim_rows_;
};

}  // namespace restante::postgres
