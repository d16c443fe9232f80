// Transaction: one verb inside the writer's transaction. Rows are written at once; the heads that the verb changed are
// written by flush(), once each. Belongs to the writer's thread. Throws what database.h lists.
#pragma once
#include <map>
#include <optional>

#include "store/sql/transaction.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

class Transaction final : public SqlTransaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}

  Database& database() { return database_; }
  // Called when the verb has succeeded.
  void flush();

  const SqlDialect& dialect() const override { return database_.dialect(); }
  void visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) override {
    database_.visit_rows(sql, values, visit);
  }
  const restante::Head* head(WorkspaceId workspace) override;
  void make_head(WorkspaceId workspace) override;
  void remove_head(WorkspaceId workspace) override { heads_.at(workspace)->removed = true; }
  Appended append(WorkspaceId workspace, Time at, InboxRowId id, const NewInboxRow& row) override;
  Appended append_message(WorkspaceId workspace, Time at, const Message& message) override;
  void set_acked(WorkspaceId workspace, std::int64_t seq) override;
  UploadTallies& tallies(WorkspaceId workspace) override;
  void touch(WorkspaceId workspace, Time at) override { held(workspace).last_created_at = at; }
  void recount(const Upload& was, const Upload& is) override;
  std::optional<Appended> find_repeated(WorkspaceId workspace, const Message& message) override;
  const Upload* upload(FileId id) override;
  void insert(const Upload& upload, std::string_view content) override;
  void insert_copy(const Upload& upload, const Upload& source) override;
  void update(const Upload& upload) override;
  void remove(std::span<const Upload> uploads, UploadState outcome, Time now) override;
  void drop_unless_needed(const std::vector<std::string>& keys, Time now) override;
  Result<std::optional<std::string>> find_claim(const Claim& claim, Time now) override;
  void keep_claim(const Claim& claim, const std::string& answer) override;

 private:
  struct KnownHead : restante::Head {
    bool appended = false;  // to be written
    bool counted = false;   // the counts of uploads, too
  };

  void run_values(std::string_view sql, std::span<const SqlValue> values) override {
    database_.run_values(sql, values);
  }
  std::int64_t change_values(std::string_view sql, std::span<const SqlValue> values) override;
  KnownHead& held(WorkspaceId workspace);
  void insert_row(const Upload& upload, std::optional<std::int64_t> content_row);

  Database& database_;
  // What was read; an empty value means that there is no such row.
  std::map<WorkspaceId, std::optional<KnownHead>> heads_;
  std::map<FileId, std::optional<Upload>> uploads_;
};

}  // namespace restante::sqlite
