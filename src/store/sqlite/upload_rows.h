// Rows of uploads, for every verb that moves one. A row and its figures in the head move together: say how it counted
// before and how it counts after. What changes rows belongs to the writer's thread.
#pragma once
#include "store/sqlite/database.h"
#include "store/sqlite/inbox.h"
#include "store/store.h"
#include "store/upload_lifecycle.h"

namespace restante::sqlite {

bool has_upload_tables(Database& database);
// Of bytes in more than one place.
bool has_place_tables(Database& database);
bool has_owner_tables(Database& database);
// Of checks of all bytes.
bool has_check_table(Database& database);

struct UploadRow {
  Upload upload;
  std::optional<std::int64_t> content_row;
};

// "SELECT …", to be read with upload_row_of(), and the same with " FROM pending_uploads ".
extern const std::string kUploadColumns;
extern const std::string kSelectUploads;
UploadRow upload_row_of(const Statement& row);
// upload_gone.
Result<UploadRow> find_upload_row(Database& database, WorkspaceId workspace, FileId id);

// By how much the figures of a workspace change.
void change_tallies(Database& database, WorkspaceId workspace, const UploadTallies& change);
// Both in one statement, for what happens with every upload.
void put_head(Database& database, WorkspaceId workspace, const Head& head, const UploadTallies& change);

// Nothing for no content.
std::optional<std::int64_t> keep_content(Database& database, std::string_view content);
std::optional<std::int64_t> copy_content(Database& database, std::optional<std::int64_t> content_row);
// Makes the row and its inbox row.
StagedUpload stage_row(Database& database, Head& head, const NewUploadRow& row, std::optional<std::int64_t> content_row,
                       UploadTallies& change);

// Appends chat_upload_<outcome>.
Appended append_receipt(Database& database, Head& head, const Upload& upload, UploadState outcome, Time now);
// Deletes the row, keeps its story, and lists the bytes as dropped if no other row needs them.
void remove_row(Database& database, const UploadRow& row, UploadState outcome, Time now);
// Lists it as dropped if no row names it. Nothing for no key.
void drop_unless_needed(Database& database, std::string_view key, Time now);
// Of those that left before `before`, the first. Gives how many.
std::int64_t prune_finished_uploads(Database& database, Time before, std::int64_t limit);

}  // namespace restante::sqlite
