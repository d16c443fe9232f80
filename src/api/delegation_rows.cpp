#include "api/delegation_rows.h"

#include "api/answers.h"

namespace restante::api {
namespace {

void write_files(JsonWriter& out, std::string_view name, const std::string& files) {
  out.raw_member(name, files.empty() ? "[]" : files);
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
  out.member_or_null("response_preview", one.result_preview);
  out.member_or_null("error", one.error_detail);
  out.member_or_null("error_detail", one.error_detail);
  out.member_or_null("last_heartbeat", one.last_heartbeat);
  out.member("deadline", one.deadline);
  out.member("created_at", one.created_at);
  out.member("updated_at", one.updated_at);
  out.member_or_null("finished_at", one.finished_at);
  out.member_or_null("why", view.why);
  out.member_or_null("agent_seen_at", view.agent_seen_at);
  out.member_or_null("progress", one.progress);
  out.member_or_null("progress_at", one.progress_at);
  out.member_or_null("late_at", one.late_at);
  out.member("retry_count", one.retry_count);
  out.member_or_null("retry_of", one.retry_of);
  out.member_or_null("parent_delegation_id", one.parent_id);
  out.member("depth", one.depth);
  out.member("recorded", one.recorded);
}

void write_record(JsonWriter& out, const DelegationRecord& record) {
  out.member("task", record.task);
  write_files(out, "attachments", record.task_files);
  out.member_or_null("result", record.result);
  write_files(out, "result_attachments", record.result_files);
  if (record.delegation.late_at) {
    out.member_or_null("late_answer", record.late_answer);
    write_files(out, "late_attachments", record.late_files);
  }
  out.objects("history", record.history, [&](const DelegationStep& step) {
    out.member("at", step.at);
    out.member("status", name_of(step.status));
    out.member("by", name_of(step.by));
    out.member("late", step.late);
    out.member_or_null("note", step.note);
  });
}

}  // namespace restante::api
