#include <algorithm>
#include <span>

#include "api/answers.h"
#include "api/handlers.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Status = DelegationStatus;

constexpr int kUsualLimit = 100;
constexpr int kMaxLimit = 500;
constexpr int kMaxAdminLimit = 1'000;

Result<DelegationFilter> filter_in(const http::Request& request, WorkspaceId id) {
  DelegationFilter filter;
  filter.workspace = id;
  if (const auto status = request.query_param("status")) {
    filter.in_flight = *status == "in_flight";
    if (!filter.in_flight) filter.status = parse_delegation_status(*status);
    if (!filter.in_flight && !filter.status) {
      return not_one_of(errors::bad_parameter, "status",
                        "queued, dispatched, in_progress, completed, failed, stuck, in_flight");
    }
  }
  if (const auto direction = request.query_param("direction")) {
    if (*direction != "sent" && *direction != "received")
      return not_one_of(errors::bad_parameter, "direction", "sent, received");
    filter.direction = *direction == "sent" ? DelegationFilter::Direction::sent : DelegationFilter::Direction::received;
  }
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(kUsualLimit);
  filter.limit = limit <= 0 ? kUsualLimit : static_cast<int>(std::min<std::int64_t>(limit, kMaxLimit));
  return filter;
}

// The tasks that the operator asks for: those given by a workspace, those given to one, or those between two.
Result<void> read_parties(const http::Request& request, DelegationFilter& filter) {
  const auto from = id_parameter<WorkspaceId>(request, "caller");
  if (!from) return from.error();
  const auto to = id_parameter<WorkspaceId>(request, "callee");
  if (!to) return to.error();
  filter.workspace = *from ? *from : *to;
  filter.direction = *from ? DelegationFilter::Direction::sent : DelegationFilter::Direction::received;
  if (*from) filter.peer = *to;
  return {};
}

void write_files(JsonWriter& out, std::string_view name, const std::string& files) {
  out.raw_member(name, files.empty() ? "[]" : files);
}

// `seen_by` is the workspace whose list this is; the direction is relative to it.
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

// What the row does not contain: the whole task and result, files, the history.
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

void write_list(JsonWriter& out, const Context& context, std::span<const Delegation> rows,
                std::optional<WorkspaceId> seen_by) {
  const auto views = context.delegations.look(rows);
  out.begin_array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.begin_object();
    write_delegation(out, rows[i], views[i], seen_by);
    out.end_object();
  }
  out.end_array();
}

http::Response whole(const Context& context, const Result<DelegationRecord>& record,
                     std::optional<WorkspaceId> seen_by) {
  if (!record) return answer(record.error());
  const auto view = context.delegations.look(std::span(&record->delegation, 1)).front();
  return object_answer(200, [&](JsonWriter& out) {
    write_delegation(out, record->delegation, view, seen_by);
    write_record(out, *record);
  });
}

}  // namespace

http::Response list_delegations(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto filter = filter_in(request, id);
  if (!filter) return answer(filter.error());
  if (const auto there = context.workspaces.find(id); !there) return answer(there.error());
  JsonWriter out;
  write_list(out, context, context.delegations.list(*filter), id);
  return http::json(200, out.take());
}

http::Response read_delegation(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return whole(context, context.delegations.read(id, *named), id);
}

http::Response list_all_delegations(const Context& context, http::Request& request) {
  const std::string status = request.query_param("status").value_or("in_flight");
  DelegationFilter filter;
  filter.in_flight = status == "in_flight";
  if (!filter.in_flight) filter.status = parse_delegation_status(status);
  if (!filter.in_flight && (!filter.status || !is_final(*filter.status))) {
    return answer(not_one_of(errors::bad_parameter, "status", "in_flight, stuck, failed, completed"));
  }
  if (const auto read = read_parties(request, filter); !read) return answer(read.error());
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(kUsualLimit);
  filter.limit = static_cast<int>(std::clamp<std::int64_t>(limit, 1, kMaxAdminLimit));
  const auto rows = context.delegations.list(filter);
  return object_answer(200, [&](JsonWriter& out) {
    out.member("count", std::ssize(rows));
    out.key("delegations");
    write_list(out, context, rows, std::nullopt);
    out.member("limit", static_cast<std::int64_t>(filter.limit));
    out.member("status", status);
  });
}

http::Response read_any_delegation(const Context& context, http::Request& request) {
  const auto named = delegation_in(request);
  if (!named) return answer(errors::delegation_not_found);
  return whole(context, context.delegations.read(*named), std::nullopt);
}

http::Response delegation_figures(const Context& context, http::Request&) {
  const DelegationStats stats = context.delegations.stats();
  return object_answer(200, [&](JsonWriter& out) {
    for (const Status status : kDelegationStatuses) out.member(name_of(status), stats.of(status));
  });
}

}  // namespace restante::api
