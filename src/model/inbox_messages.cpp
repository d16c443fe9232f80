#include "model/inbox_messages.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace restante {
namespace {

using Status = DelegationStatus;

// Writes the members of a JSON list as file parts of a message.
void write_file_parts(JsonWriter& out, const std::string& files) {
  if (files.empty()) return;
  const auto list = parse_json(files);
  if (!list || !list->if_array()) return;
  for (const Json& file : *list->if_array()) {
    out.begin_object();
    out.member("kind", "file");
    out.key("file");
    out.raw(file.dump());
    out.end_object();
  }
}

void write_message(JsonWriter& out, std::string_view message_id, std::string_view role, const std::string& text,
                   const std::string& files) {
  out.member("kind", "message");
  out.member("messageId", message_id);
  out.member("role", role);
  out.key("parts");
  out.begin_array();
  if (!text.empty() || files.empty()) {
    out.begin_object();
    out.member("kind", "text");
    out.member("text", text);
    out.end_object();
  }
  write_file_parts(out, files);
  out.end_array();
}

void write_true(JsonWriter& out, std::string_view name) {
  out.key(name);
  out.boolean(true);
}

// The fields that readers of the inbox and live events use; never the text of the task or the result.
void write_facts(JsonWriter& out, const Delegation& of, Status status) {
  out.member("delegation_id", of.id);
  out.member("status", name_of(status));
  out.member("caller_id", of.caller_id.text());
  out.member("target_id", of.callee_id.text());
}

NewInboxRow note_of(const Delegation& of, std::string_view method, const std::string& summary) {
  JsonWriter body;
  body.begin_object();
  write_facts(body, of, of.status);
  body.member("deadline", format_time(of.deadline));
  if (!of.retry_of.empty()) body.member("retry_of", of.retry_of);
  if (!of.parent_id.empty()) body.member("parent_delegation_id", of.parent_id);
  body.end_object();
  NewInboxRow row;
  row.activity_type = "delegation";
  row.method = method;
  row.summary = cut_utf8(summary, kSummaryBytes);
  row.source_id = of.caller_id;
  row.target_id = of.callee_id;
  row.request_body = body.take();
  return row;
}

void write_time(JsonWriter& body, std::string_view name, std::optional<Time> time) {
  body.key(name);
  time ? body.string(format_time(*time)) : body.null();
}

}  // namespace

NewInboxRow arrival_of(WorkspaceId workspace, const NewUpload& item) {
  JsonWriter body;
  body.begin_object();
  body.member("file_id", item.id.text());
  body.member("name", item.name);
  body.member("filename", item.name);
  body.member("mimeType", item.mimetype);
  body.member("size", item.size);
  body.member("uri", pending_uri(workspace, item.id));
  body.member("sha256", to_hex(item.sha256));
  body.end_object();
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "chat_upload_receive";
  row.summary = "chat_upload_receive: " + item.name;
  row.source_id = item.source_id;
  row.target_id = workspace;
  row.request_body = body.take();
  return row;
}

// Never a2a_receive: the agent does not get its own receipts as messages.
NewInboxRow receipt_of(const Upload& upload, UploadState outcome) {
  JsonWriter body;
  body.begin_object();
  body.member("file_id", upload.id.text());
  body.member("name", upload.name);
  body.member("size", upload.size);
  write_time(body, "fetched_at", upload.fetched_at);
  write_time(body, "acked_at", upload.acked_at);
  if (outcome == UploadState::failed) body.member("reason", upload.reason);
  body.end_object();
  NewInboxRow row;
  row.activity_type = "upload_receipt";
  row.method = "chat_upload_" + std::string(name_of(outcome));
  row.summary = row.method + ": " + upload.name;
  row.source_id = upload.source_id;
  row.target_id = upload.workspace_id;
  row.request_body = body.take();
  return row;
}

NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent) {
  const std::string message_id = "delegation-" + made.id;
  JsonWriter body;
  body.begin_object();
  body.member("jsonrpc", "2.0");
  body.member("id", message_id);
  body.member("method", "message/send");
  body.key("params");
  body.begin_object();
  body.key("message");
  body.begin_object();
  write_message(body, message_id, "user", task, files);
  body.key("metadata");
  body.begin_object();
  body.member("delegation_id", made.id);
  body.member("deadline", format_time(made.deadline));
  body.member("depth", made.depth);
  if (!made.retry_of.empty()) body.member("retry_of", made.retry_of);
  if (!made.parent_id.empty()) body.member("parent_delegation_id", made.parent_id);
  for (int open = 0; open < 4; ++open) body.end_object();
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  row.summary = cut_utf8(made.task_preview, kSummaryBytes);
  row.source_id = made.caller_id;
  row.target_id = made.callee_id;
  row.request_body = body.take();
  row.traceparent = std::move(traceparent);
  return row;
}

NewInboxRow sent_note(const Delegation& made) { return note_of(made, "delegate", made.task_preview); }

NewInboxRow status_note(const Delegation& of) {
  return note_of(of, "delegation_status", std::string(name_of(of.status)) + ": " + of.task_preview);
}

NewInboxRow result_row(const Delegation& of, const DelegationReport& report, bool late) {
  const bool good = report.status == Status::completed;
  JsonWriter body;
  body.begin_object();
  body.member("jsonrpc", "2.0");
  body.member("method", "delegate_result");
  write_facts(body, of, report.status);
  if (late) write_true(body, "late");
  body.key("params");
  body.begin_object();
  body.key("message");
  body.begin_object();
  write_message(body, "delegation-" + of.id + (late ? "-late" : "-result"), "agent", report.text, report.files);
  body.key("metadata");
  body.begin_object();
  body.member("delegation_id", of.id);
  body.member("status", name_of(report.status));
  if (late) write_true(body, "late");
  body.end_object();
  body.end_object();
  body.end_object();
  body.end_object();
  JsonWriter response;
  response.begin_object();
  response.member("text", report.text);
  response.member("delegation_id", of.id);
  if (late) write_true(response, "late");
  response.end_object();
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "delegate_result";
  row.summary = cut_utf8(std::string(name_of(report.status)) + ": " + report.text, kSummaryBytes);
  row.source_id = of.callee_id;
  row.target_id = of.caller_id;
  row.request_body = body.take();
  row.response_body = response.take();
  row.status = good ? "ok" : "error";
  if (!good) row.error_detail = cut_utf8(report.text, kMaxErrorBytes);
  return row;
}

}  // namespace restante
