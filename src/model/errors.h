// All errors that a client can get: code, sentence, class. This is the only list; docs/errors.md is checked against it.
#pragma once
#include "base/error.h"

namespace restante::errors {

// Requests
inline constexpr ErrorKind bad_json{"bad_json", "the body is not valid JSON", ErrorClass::bad_request};
inline constexpr ErrorKind nul_not_allowed{"nul_not_allowed", "text must not contain a NUL character",
                                           ErrorClass::bad_request};
inline constexpr ErrorKind bad_field{"bad_field", "a field is missing or of the wrong type", ErrorClass::bad_request};
inline constexpr ErrorKind bad_id{"bad_id", "the id is not a UUID", ErrorClass::bad_request};
inline constexpr ErrorKind bad_parameter{"bad_parameter", "a query parameter has no valid value",
                                         ErrorClass::bad_request};
inline constexpr ErrorKind json_expected{"json_expected", "this route takes a body of Content-Type application/json",
                                         ErrorClass::unsupported_media};

// Principals
inline constexpr ErrorKind missing_token{"missing_token", "missing workspace auth token", ErrorClass::unauthenticated};
inline constexpr ErrorKind invalid_token{"invalid_token", "invalid workspace auth token", ErrorClass::unauthenticated};
inline constexpr ErrorKind admin_required{"admin_required", "admin auth required", ErrorClass::unauthenticated};
inline constexpr ErrorKind admin_token_given{
    "admin_token_given", "the operator's token is set with RESTANTE_ADMIN_TOKEN; change it there and start again",
    ErrorClass::conflict};
inline constexpr ErrorKind too_many_invalid_tokens{
    "too_many_invalid_tokens", "too many invalid tokens from this address; wait before the next one",
    ErrorClass::too_many};
inline constexpr ErrorKind not_allowed{"not_allowed", "this token may not do that", ErrorClass::forbidden};
inline constexpr ErrorKind foreign_origin{"foreign_origin", "the request comes from a page of another origin",
                                          ErrorClass::forbidden};
inline constexpr ErrorKind foreign_host{
    "foreign_host", "the page is not served under this Host; set public_url or allowed_hosts", ErrorClass::misdirected};
inline constexpr ErrorKind sign_in_needs_tls{
    "sign_in_needs_tls", "sign-in over plain http works on loopback only; serve TLS and set public_url",
    ErrorClass::forbidden};

// Workspaces
inline constexpr ErrorKind workspace_not_found{"workspace_not_found", "workspace not found", ErrorClass::not_found};
inline constexpr ErrorKind workspace_removed{"workspace_removed", "this workspace was removed", ErrorClass::gone};
inline constexpr ErrorKind workspace_exists{"workspace_exists", "a workspace with this id exists",
                                            ErrorClass::conflict};

inline constexpr ErrorKind bad_parent{"bad_parent", "parent_id names no workspace that can be the parent of this one",
                                      ErrorClass::bad_request};
inline constexpr ErrorKind too_many_tokens{"too_many_tokens", "this workspace has as many live tokens as it may have",
                                           ErrorClass::conflict};
inline constexpr ErrorKind callback_refused{"callback_refused", "this server does not call that url",
                                            ErrorClass::bad_request};

inline constexpr ErrorKind token_not_found{"token_not_found", "this workspace has no such live token",
                                           ErrorClass::not_found};
inline constexpr ErrorKind may_not_talk{
    "may_not_talk",
    "these workspaces may not talk: give them a common parent_id, or set access.roots to \"talk\" for unrelated ones",
    ErrorClass::forbidden};

// Repeated requests
inline constexpr ErrorKind bad_idempotency_key{
    "bad_idempotency_key", "Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters",
    ErrorClass::bad_request};
inline constexpr ErrorKind idempotency_mismatch{
    "idempotency_mismatch", "this Idempotency-Key was used for another request", ErrorClass::unprocessable};
inline constexpr ErrorKind idempotency_in_progress{
    "idempotency_in_progress", "the first request with this Idempotency-Key is still running; ask again shortly",
    ErrorClass::conflict};

// Inbox
inline constexpr ErrorKind cursor_gone{
    "cursor_gone",
    "since_id or since_seq names no row of this workspace; read once without a cursor, or with since_seq=0, and go on "
    "from there",
    ErrorClass::gone};

// Uploads
inline constexpr ErrorKind malformed_multipart{"malformed_multipart", "malformed multipart body",
                                               ErrorClass::bad_request};
inline constexpr ErrorKind no_files{"no_files", "no files field in request", ErrorClass::bad_request};
inline constexpr ErrorKind too_many_files{"too_many_files", "too many files (limit 64)", ErrorClass::bad_request};
inline constexpr ErrorKind empty_file{"empty_file", "file is empty", ErrorClass::bad_request};
inline constexpr ErrorKind file_too_large{"file_too_large", "file exceeds per-file cap", ErrorClass::too_large};
inline constexpr ErrorKind field_too_large{"field_too_large", "a form field is too large", ErrorClass::too_large};
inline constexpr ErrorKind upload_gone{"upload_gone", "pending upload not found, expired, or already acked",
                                       ErrorClass::not_found};
inline constexpr ErrorKind no_such_download{"no_such_download", "this server hands out no program of that name",
                                            ErrorClass::not_found};
inline constexpr ErrorKind integrity_error{
    "integrity_error", "the server's copy of this file was damaged; it has to be sent again", ErrorClass::broken};
inline constexpr ErrorKind content_missing{
    "content_missing", "the server's copy of this file is missing; it has to be sent again", ErrorClass::gone};
inline constexpr ErrorKind upload_already_acked{
    "upload_already_acked", "the agent has taken this file; it can no longer be recalled", ErrorClass::conflict};
inline constexpr ErrorKind attachment_gone{
    "attachment_gone", "the message names a file that is not an outgoing file of its sender, or no longer",
    ErrorClass::bad_request};
inline constexpr ErrorKind quota_exceeded{
    "quota_exceeded",
    "too much is staged for this workspace: let its agent take files, recall some, or raise its quota",
    ErrorClass::storage_full};
inline constexpr ErrorKind no_callback{"no_callback",
                                       "workspace has no callback URL; register it in poll mode, or give it a url",
                                       ErrorClass::unprocessable};
inline constexpr ErrorKind callback_missing{
    "callback_missing", "workspace has no callback URL yet; its agent must register one", ErrorClass::unavailable};
inline constexpr ErrorKind no_inbound_secret{
    "no_inbound_secret",
    "the secret for this workspace's callback cannot be read; its agent gets a new one when it registers or sends a "
    "heartbeat",
    ErrorClass::unavailable};
inline constexpr ErrorKind callback_unreachable{
    "callback_unreachable", "the workspace's callback could not be reached; nothing was delivered, try again later",
    ErrorClass::bad_gateway};
inline constexpr ErrorKind callback_failed{
    "callback_failed",
    "the workspace's callback gave no answer that can be passed on; it may have the upload, or part of it",
    ErrorClass::bad_gateway};
inline constexpr ErrorKind storage_full{"storage_full", "the server's disk is full", ErrorClass::storage_full};
inline constexpr ErrorKind insufficient_storage{
    "insufficient_storage", "the server keeps the rest of its disk free; try again when files have been taken",
    ErrorClass::storage_full};
inline constexpr ErrorKind blob_check_running{
    "blob_check_running", "a check of all files is running; ask for its progress, or wait until it has ended",
    ErrorClass::conflict};
inline constexpr ErrorKind sweep_running{"sweep_running", "another sweep is running; ask again when it has ended",
                                         ErrorClass::conflict};

// Places of files
inline constexpr ErrorKind blob_place_unusable{"blob_place_unusable", "files cannot be stored there now",
                                               ErrorClass::conflict};
inline constexpr ErrorKind blob_move_under_way{
    "blob_move_under_way", "a blob move to another place is in progress; finish or reverse it first",
    ErrorClass::conflict};
inline constexpr ErrorKind blob_move_needless{
    "blob_move_needless", "all files are there already, and new ones go there", ErrorClass::conflict};
inline constexpr ErrorKind no_blob_move{"no_blob_move", "no blob move is in progress", ErrorClass::conflict};
inline constexpr ErrorKind blob_move_unfinished{
    "blob_move_unfinished", "not all files are in the new place yet; what is left is still being copied",
    ErrorClass::conflict};

// Delegations
inline constexpr ErrorKind delegation_not_found{"delegation_not_found", "delegation not found", ErrorClass::not_found};
inline constexpr ErrorKind delegation_id_taken{
    "delegation_id_taken", "this delegation_id belongs to another caller; choose another one", ErrorClass::conflict};
inline constexpr ErrorKind delegation_ended{
    "delegation_ended", "this delegation has ended, and its outcome no longer changes", ErrorClass::conflict};
inline constexpr ErrorKind delegation_in_flight{
    "delegation_in_flight", "the delegation to be retried has not ended; cancel it first", ErrorClass::conflict};
inline constexpr ErrorKind delegation_too_deep{
    "delegation_too_deep", "too many tasks hang below one another; do this one yourself", ErrorClass::unprocessable};
inline constexpr ErrorKind delegation_cycle{
    "delegation_cycle", "the target already takes part in this chain of tasks; it would wait for itself",
    ErrorClass::unprocessable};
inline constexpr ErrorKind result_too_large{
    "result_too_large",
    "a result of more than 1 MiB travels as a file: upload it with direction=out and name it in attachments",
    ErrorClass::too_large};
inline constexpr ErrorKind too_many_delegations{
    "too_many_delegations", "too many tasks are in progress; wait until some have ended, or cancel some",
    ErrorClass::too_many};

// Server
inline constexpr ErrorKind platform_unavailable{
    "platform_unavailable", "the server cannot reach its storage; try again shortly", ErrorClass::unavailable};
inline constexpr ErrorKind outcome_unknown{
    "outcome_unknown",
    "the storage failed while this was being committed, and it may have been stored; repeat the request with the same "
    "Idempotency-Key",
    ErrorClass::unavailable};

}  // namespace restante::errors
