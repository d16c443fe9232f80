#include "model/inbox_messages.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/a2a.h"

namespace restante {
namespace {

using Status = DelegationStatus;

// `files` is a JSON list.
void write_members(JsonWriter& out, std::string_view message_id, std::string_view role, const std::string& text,
                   const std::string& files) {
  const auto list = parse_json(files.empty() ? "[]" : files);
  out.member("kind", "message");
  out.member("messageId", message_id);
  out.member("role", role);
  write_parts(out, text.empty() && !files.empty() ? std::nullopt : std::optional<std::string_view>(text),
              list && list->if_array() ? *list->if_array() : Json::Array(),
              [&](const Json& file) { out.raw(file.dump()); });
}

// The fields that readers of the inbox and live events use; never the text of the task or the result.
void write_facts(JsonWriter& out, const Delegation& of, Status status) {
  out.member("delegation_id", of.id);
  out.member("status", name_of(status));
  out.member("caller_id", of.caller_id.text());
  out.member("target_id", of.callee_id.text());
}

NewInboxRow note_of(const Delegation& of, std::string_view method, const std::string& summary) {
  NewInboxRow row;
  row.activity_type = "delegation";
  row.method = method;
  row.summary = cut_utf8(summary, kSummaryBytes);
  row.source_id = of.caller_id;
  row.target_id = of.callee_id;
  row.request_body = json_object([&](JsonWriter& body) {
    write_facts(body, of, of.status);
    body.member("deadline", of.deadline);
    body.member_if("retry_of", of.retry_of);
    body.member_if("parent_delegation_id", of.parent_id);
  });
  return row;
}

}  // namespace

NewInboxRow arrival_of(WorkspaceId workspace, const NewUpload& item, const StagingTerms& terms) {
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "chat_upload_receive";
  row.summary = "chat_upload_receive: " + item.name;
  row.source_id = item.source_id;
  row.target_id = workspace;
  row.request_body = json_object([&](JsonWriter& body) {
    body.member("file_id", item.id.text());
    body.member("name", item.name);
    body.member("filename", item.name);
    body.member("mimeType", item.mimetype);
    body.member("size", item.size);
    body.member("uri", pending_uri(workspace, item.id));
    body.member("sha256", to_hex(item.sha256));
    if (terms.by_agent) body.member("uploaded_by", "agent");
  });
  return row;
}

// Never a2a_receive: the agent does not get its own receipts as messages.
NewInboxRow receipt_of(const Upload& upload, UploadState outcome) {
  NewInboxRow row;
  row.activity_type = "upload_receipt";
  row.method = "chat_upload_" + std::string(name_of(outcome));
  row.summary = row.method + ": " + upload.name;
  row.source_id = upload.source_id;
  row.target_id = upload.workspace_id;
  row.request_body = json_object([&](JsonWriter& body) {
    body.member("file_id", upload.id.text());
    body.member("name", upload.name);
    body.member("size", upload.size);
    body.member_or_null("fetched_at", upload.fetched_at);
    body.member_or_null("acked_at", upload.acked_at);
    if (outcome == UploadState::failed) body.member("reason", upload.reason);
  });
  return row;
}

NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent) {
  const std::string message_id = "delegation-" + made.id;
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  row.summary = cut_utf8(made.task_preview, kSummaryBytes);
  row.source_id = made.caller_id;
  row.target_id = made.callee_id;
  row.request_body = message_call(message_id, [&](JsonWriter& body) {
    write_members(body, message_id, "user", task, files);
    body.object("metadata", [&] {
      body.member("delegation_id", made.id);
      body.member("deadline", made.deadline);
      body.member("depth", made.depth);
      body.member_if("retry_of", made.retry_of);
      body.member_if("parent_delegation_id", made.parent_id);
    });
  });
  row.traceparent = std::move(traceparent);
  return row;
}

NewInboxRow sent_note(const Delegation& made) { return note_of(made, "delegate", made.task_preview); }

NewInboxRow status_note(const Delegation& of) {
  return note_of(of, "delegation_status", std::string(name_of(of.status)) + ": " + of.task_preview);
}

NewInboxRow result_row(const Delegation& of, const DelegationReport& report, bool late) {
  const bool good = report.status == Status::completed;
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "delegate_result";
  row.summary = cut_utf8(std::string(name_of(report.status)) + ": " + report.text, kSummaryBytes);
  row.source_id = of.callee_id;
  row.target_id = of.caller_id;
  row.request_body = json_object([&](JsonWriter& body) {
    body.member("jsonrpc", "2.0");
    body.member("method", "delegate_result");
    write_facts(body, of, report.status);
    body.flag("late", late);
    write_message(body, [&] {
      write_members(body, "delegation-" + of.id + (late ? "-late" : "-result"), "agent", report.text, report.files);
      body.object("metadata", [&] {
        body.member("delegation_id", of.id);
        body.member("status", name_of(report.status));
        body.flag("late", late);
      });
    });
  });
  row.response_body = json_object([&](JsonWriter& response) {
    response.member("text", report.text);
    response.member("delegation_id", of.id);
    response.flag("late", late);
  });
  row.status = good ? "ok" : "error";
  if (!good) row.error_detail = cut_utf8(report.text, kMaxErrorBytes);
  return row;
}

}  // namespace restante
