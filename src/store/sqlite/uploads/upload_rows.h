// Functions on the rows of uploads, for all verbs that change one. A verb that changes a row also changes the counts in
// the inbox head, by an UploadTallies of the row before and after. Those that change rows run on the writer's thread.
#pragma once
#include "model/upload_rules.h"
#include "store/row_columns.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/inbox/inbox.h"
#include "store/store.h"

namespace restante::sqlite {

bool has_upload_tables(Database& database);

struct UploadRow {
  Upload upload;
  std::optional<std::int64_t> content_row;
};

// To be read with upload_row_of().
inline const std::string kSelectUploadRows = kUploadColumns + ", content_row FROM pending_uploads ";
UploadRow upload_row_of(const Statement& row);
// upload_gone.
Result<UploadRow> find_upload_row(Database& database, WorkspaceId workspace, FileId id);

// Adds `change` to the counts of a workspace.
void change_tallies(Database& database, WorkspaceId workspace, const UploadTallies& change);
// put_head() and change_tallies() in one statement, because every upload needs both.
void put_head(Database& database, WorkspaceId workspace, const Head& head, const UploadTallies& change);

// None for empty content.
std::optional<std::int64_t> keep_content(Database& database, std::string_view content);
std::optional<std::int64_t> copy_content(Database& database, std::optional<std::int64_t> content_row);
// Inserts the row and, for an incoming upload, its inbox row.
StagedUpload stage_row(Database& database, Head& head, const NewUploadRow& row, std::optional<std::int64_t> content_row,
                       UploadTallies& change);

// Appends chat_upload_<outcome>.
Appended append_receipt(Database& database, Head& head, const Upload& upload, UploadState outcome, Time now);
// Deletes the row, keeps its status in finished_uploads, and lists its blobs as dropped if no other row needs them.
void remove_row(Database& database, const UploadRow& row, UploadState outcome, Time now);
// Lists the blob as dropped if no row names it. Does nothing for an empty key.
void drop_unless_needed(Database& database, std::string_view key, Time now);

}  // namespace restante::sqlite
