#include "api/handlers.h"

#include <algorithm>
#include <map>

#include "api/answers.h"
#include "api/uploads.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Names = std::map<WorkspaceId, std::string>;

constexpr int kMostRows = 1'000;
constexpr int kUsualRows = 100;
// The groups that "all" consists of; outgoing files must be requested by name.
constexpr UploadGroup kAll[] = {UploadGroup::waiting, UploadGroup::acked, UploadGroup::expired};

struct ListRequest {
  std::string state;
  std::vector<UploadGroup> groups;
  UploadFilter filter;
};

Result<void> read_state(const http::Request& request, ListRequest& wanted) {
  wanted.state = request.query_param("state").value_or("waiting");
  if (wanted.state == "all") {
    wanted.groups.assign(std::begin(kAll), std::end(kAll));
    return {};
  }
  const auto group = parse_upload_group(wanted.state);
  if (!group) {
    return not_one_of(errors::bad_parameter, "state",
                      "waiting, never_fetched, fetched, failed, acked, expired, outgoing, damaged, all");
  }
  wanted.groups.push_back(*group);
  return {};
}

Result<ListRequest> parse_list_request(const http::Request& request) {
  ListRequest wanted;
  if (const auto state = read_state(request, wanted); !state) return state.error();
  const auto workspace = id_parameter<WorkspaceId>(request, "workspace");
  if (!workspace) return workspace.error();
  wanted.filter.workspace = *workspace;
  const auto after = id_parameter<FileId>(request, "after");
  if (!after) return after.error();
  wanted.filter.after = *after;
  if (*after && wanted.groups.size() > 1) {
    return bad_parameter("after", "page through one state at a time, not through all");
  }
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(kUsualRows);
  wanted.filter.limit = static_cast<int>(std::clamp<std::int64_t>(limit, 1, kMostRows));
  return wanted;
}

std::vector<Upload> rows_of(const Context& context, const ListRequest& wanted) {
  std::vector<Upload> rows;
  UploadFilter filter = wanted.filter;
  for (const UploadGroup group : wanted.groups) {
    filter.group = group;
    filter.limit = wanted.filter.limit - static_cast<int>(rows.size());
    if (filter.limit == 0) break;
    for (Upload& upload : context.uploads.list(filter)) rows.push_back(std::move(upload));
  }
  return rows;
}

void write_name(JsonWriter& out, const Context& context, Names& names, WorkspaceId id) {
  auto known = names.find(id);
  if (known == names.end()) {
    const auto workspace = context.workspaces.find(id);
    known = names.emplace(id, workspace ? workspace->name : std::string()).first;
  }
  out.member("workspace_id", id.text());
  out.member_or_null("workspace_name", known->second);
}

void write_tally(JsonWriter& out, std::string_view name, const UploadTally& tally) {
  out.object(name, [&] {
    out.member("files", tally.files);
    out.member("bytes", tally.bytes);
  });
}

void write_figures(JsonWriter& out, const UploadStats& stats, Time now) {
  const UploadTally waiting{stats.never_fetched.files + stats.fetched.files + stats.failed.files,
                            stats.never_fetched.bytes + stats.fetched.bytes + stats.failed.bytes};
  write_tally(out, "waiting", waiting);
  write_tally(out, "never_fetched", stats.never_fetched);
  write_tally(out, "fetched", stats.fetched);
  write_tally(out, "failed", stats.failed);
  write_tally(out, "acked", stats.acked);
  write_tally(out, "expired", stats.expired);
  write_tally(out, "outgoing", stats.outgoing);
  write_tally(out, "damaged", stats.damaged);
  out.member_or_null("oldest", stats.oldest);
  out.key("oldest_age_seconds");
  if (!stats.oldest) return out.null();
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - *stats.oldest);
  out.integer(std::max<std::int64_t>(0, age.count()));
}

// Without `limit` and `after`: all workspaces, as clients always got them. limit=0: only the total.
Result<UploadStatsPage> parse_figures_page(const http::Request& request) {
  UploadStatsPage page;
  const auto only = id_parameter<WorkspaceId>(request, "workspace");
  if (!only) return only.error();
  page.only = *only;
  const auto after = id_parameter<WorkspaceId>(request, "after");
  if (!after) return after.error();
  page.after = *after;
  const auto limit = request.query_param("limit");
  if (page.only || (!limit && !page.after)) return page;
  const auto wanted = parse_signed(limit.value_or("")).value_or(kUsualRows);
  page.limit = static_cast<int>(std::clamp<std::int64_t>(wanted, 0, kMostRows));
  return page;
}

}  // namespace

http::Response list_all_uploads(const Context& context, http::Request& request) {
  const auto wanted = parse_list_request(request);
  if (!wanted) return answer(wanted.error());
  const auto rows = rows_of(context, *wanted);
  const Time now = context.clock.expiry_time();
  Names names;
  return object_answer(200, [&](JsonWriter& out) {
    out.member("count", std::ssize(rows));
    out.member("limit", static_cast<std::int64_t>(wanted->filter.limit));
    out.member("state", wanted->state);
    out.objects("uploads", rows, [&](const Upload& upload) {
      write_name(out, context, names, upload.workspace_id);
      write_upload(out, upload, upload.state(now));
    });
  });
}

http::Response upload_figures(const Context& context, http::Request& request) {
  const auto page = parse_figures_page(request);
  if (!page) return answer(page.error());
  const AllUploadStats stats = context.uploads.stats(*page);
  const Time now = context.clock.now();
  Names names;
  const bool all = !page->only && !page->limit;
  if (all) {
    for (const Workspace& workspace : context.workspaces.list()) names.emplace(workspace.id, workspace.name);
  }
  return object_answer(200, [&](JsonWriter& out) {
    out.objects("workspaces", stats.workspaces, [&](const auto& one) {
      write_name(out, context, names, one.first);
      write_figures(out, one.second, now);
    });
    out.object("total", [&] { write_figures(out, stats.total, now); });
    if (!all) out.member_or_null("next", stats.next ? stats.next->text() : std::string());
  });
}

http::Response sweep_now(const Context& context, http::Request&) {
  const auto report = context.sweep.run_once();
  if (!report) return answer(report.error());
  return object_answer(200, [&](JsonWriter& out) {
    out.member("acked", report->acked);
    out.member("expired", report->expired);
    out.member("blobs_deleted", report->blobs);
    out.member("orphans", report->orphans);
    out.member("clock_jumped", report->clock_jumped);
    out.member("duration_ms", static_cast<std::int64_t>(report->took.count()));
  });
}

}  // namespace restante::api
