#include "api/delegation_rows.h"

#include "api/answers.h"

namespace restante::api {
namespace {

void write_files(JsonWriter& out, std::string_view name, const std::string& files) {
  out.key(name);
  out.raw(files.empty() ? "[]" : files);
}

void write_flag(JsonWriter& out, std::string_view name, bool value) {
  out.key(name);
  out.boolean(value);
}

}  // namespace

std::optional<std::string> delegation_in(const http::Request& request) {
  const std::string_view id = request.param("did");
  if (!is_delegation_id(id)) return std::nullopt;
  return std::string(id);
}

void write_delegation(JsonWriter& out, const Delegation& one, const desk::DelegationView& view,
                      std::optional<WorkspaceId> seen_by) {
  out.member("delegation_id", one.id);
  out.member("source_id", one.caller_id.text());
  out.member("target_id", one.callee_id.text());
  if (seen_by) out.member("direction", one.caller_id == *seen_by ? "sent" : "received");
  out.member("status", name_of(one.status));
  out.member("summary", one.task_preview);
  write_text(out, "response_preview", one.result_preview);
  write_text(out, "error", one.error_detail);
  write_text(out, "error_detail", one.error_detail);
  write_time(out, "last_heartbeat", one.last_heartbeat);
  out.member("deadline", format_time(one.deadline));
  out.member("created_at", format_time(one.created_at));
  out.member("updated_at", format_time(one.updated_at));
  write_time(out, "finished_at", one.finished_at);
  write_text(out, "why", view.why);
  write_time(out, "agent_seen_at", view.agent_seen_at);
  write_text(out, "progress", one.progress);
  write_time(out, "progress_at", one.progress_at);
  write_time(out, "late_at", one.late_at);
  out.member("retry_count", one.retry_count);
  write_text(out, "retry_of", one.retry_of);
  write_text(out, "parent_delegation_id", one.parent_id);
  out.member("depth", one.depth);
  write_flag(out, "recorded", one.recorded);
}

void write_record(JsonWriter& out, const DelegationRecord& record) {
  out.member("task", record.task);
  write_files(out, "attachments", record.task_files);
  write_text(out, "result", record.result);
  write_files(out, "result_attachments", record.result_files);
  if (record.delegation.late_at) {
    write_text(out, "late_answer", record.late_answer);
    write_files(out, "late_attachments", record.late_files);
  }
  out.key("history");
  out.begin_array();
  for (const DelegationStep& step : record.history) {
    out.begin_object();
    out.member("at", format_time(step.at));
    out.member("status", name_of(step.status));
    out.member("by", name_of(step.by));
    write_flag(out, "late", step.late);
    write_text(out, "note", step.note);
    out.end_object();
  }
  out.end_array();
}

}  // namespace restante::api
