// Rows as both backends select them: the same columns in the same order. Throws Unavailable for a value that this
// binary does not know.
#pragma once
#include "base/error.h"
#include "model/inbox_row.h"
#include "model/token.h"
#include "model/upload_rules.h"
#include "model/workspace.h"
#include "store/sql/row.h"

namespace restante {

inline const std::string kWorkspaceColumns =
    "id, name, role, parent_id, delivery_mode, url, agent_card, status, last_heartbeat_at, last_poll_at, current_task, "
    "active_tasks, uptime_seconds, last_error_rate, created_at, updated_at, usual_poll_gap";
inline const std::string kTokenColumns =
    "id, kind, workspace_id, prefix, label, created_at, last_used_at, expires_at, revoked_at, opened_by";
inline const std::string kInboxColumns =
    "id, seq, activity_type, source_id, target_id, method, summary, request_body, response_body, status, error_detail, "
    "duration_ms, created_at, message_id, traceparent";
// "SELECT …", and the same with " FROM pending_uploads ".
inline const std::string kUploadColumns =
    "SELECT file_id, filename, mimetype, size_bytes, sha256, blob_key, workspace_id, direction, staged_by, source_id, "
    "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, twin_key";
inline const std::string kSelectUploads = kUploadColumns + " FROM pending_uploads ";
constexpr int kUploadColumnCount = 18;
// Of inbox_heads.
inline const std::string kTallyColumns =
    "staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes, acked_files, acked_bytes, "
    "outgoing_files, outgoing_bytes";

inline WorkspaceStatus status_of(std::string_view text) {
  const auto status = parse_workspace_status(text);
  if (!status) throw Unavailable("a workspace has a status this binary does not know");
  return *status;
}

inline Workspace workspace_of(const SqlRow& row) {
  Workspace workspace;
  workspace.id = row.id<WorkspaceId>(0);
  workspace.name = row.text(1);
  workspace.role = row.text(2);
  workspace.parent_id = row.optional_id<WorkspaceId>(3);
  const auto mode = parse_delivery_mode(row.view(4));
  workspace.delivery_mode = mode.value_or(DeliveryMode::push);
  workspace.mode_is_set = mode.has_value();
  workspace.url = row.text(5);
  workspace.agent_card = row.text(6);
  workspace.status = status_of(row.view(7));
  workspace.last_heartbeat_at = row.optional_time(8);
  workspace.last_poll_at = row.optional_time(9);
  workspace.current_task = row.text(10);
  workspace.active_tasks = row.integer(11);
  workspace.uptime_seconds = row.integer(12);
  workspace.last_error_rate = row.real(13);
  workspace.created_at = row.time(14);
  workspace.updated_at = row.time(15);
  if (const auto gap = row.optional_integer(16)) workspace.usual_poll_gap = std::chrono::microseconds(*gap);
  return workspace;
}

inline Token token_of(const SqlRow& row) {
  const auto kind = parse_token_kind(row.view(1));
  if (!kind) throw Unavailable("a token has a kind this binary does not know");
  Token token;
  token.id = row.id<TokenId>(0);
  token.kind = *kind;
  token.workspace_id = row.optional_id<WorkspaceId>(2);
  token.prefix = row.text(3);
  token.label = row.text(4);
  token.created_at = row.time(5);
  token.last_used_at = row.optional_time(6);
  token.expires_at = row.optional_time(7);
  token.revoked_at = row.optional_time(8);
  token.opened_by = row.optional_id<TokenId>(9);
  return token;
}

inline InboxRow inbox_row_of(const SqlRow& row, WorkspaceId workspace) {
  InboxRow inbox_row;
  inbox_row.workspace_id = workspace;
  inbox_row.id = row.id<InboxRowId>(0);
  inbox_row.seq = row.integer(1);
  inbox_row.activity_type = row.text(2);
  inbox_row.source_id = row.optional_id<WorkspaceId>(3);
  inbox_row.target_id = row.optional_id<WorkspaceId>(4);
  inbox_row.method = row.text(5);
  inbox_row.summary = row.text(6);
  inbox_row.request_body = row.text(7);
  inbox_row.response_body = row.text(8);
  inbox_row.status = row.text(9);
  inbox_row.error_detail = row.text(10);
  inbox_row.duration_ms = row.optional_integer(11);
  inbox_row.created_at = row.time(12);
  inbox_row.message_id = row.text(13);
  inbox_row.traceparent = row.text(14);
  return inbox_row;
}

// From the column that the first of kTallyColumns has.
inline UploadTallies tallies_of(const SqlRow& row, int first) {
  const auto tally = [&](int at) { return UploadTally{row.integer(first + at), row.integer(first + at + 1)}; };
  UploadTallies tallies;
  tallies.staged = tally(0);
  tallies.fetched = tally(2);
  tallies.failed = tally(4);
  tallies.acked = tally(6);
  tallies.outgoing = tally(8);
  return tallies;
}

// Without the content.
inline Upload upload_of(const SqlRow& row) {
  Upload upload;
  int at = 0;
  upload.id = row.id<FileId>(at++);
  upload.name = row.text(at++);
  upload.mimetype = row.text(at++);
  upload.size = row.integer(at++);
  upload.sha256 = row.digest(at++);
  upload.blob_key = row.text(at++);
  upload.workspace_id = row.id<WorkspaceId>(at++);
  upload.direction = row.view(at++) == "out" ? UploadDirection::out : UploadDirection::in;
  upload.staged_by = row.optional_id<TokenId>(at++);
  upload.source_id = row.optional_id<WorkspaceId>(at++);
  upload.created_at = row.time(at++);
  upload.expires_at = row.time(at++);
  upload.fetched_at = row.optional_time(at++);
  upload.acked_at = row.optional_time(at++);
  upload.failed_at = row.optional_time(at++);
  upload.reason = row.text(at++);
  upload.damage = parse_upload_damage(row.view(at++));
  upload.twin_key = row.text(at++);
  return upload;
}

}  // namespace restante
