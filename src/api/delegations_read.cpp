#include <algorithm>
#include <span>

#include "api/answers.h"
#include "api/delegation_rows.h"
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
