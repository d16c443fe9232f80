#include "api/handlers.h"

#include <map>

#include "api/answers.h"

namespace restante::api {
namespace {

using Names = std::map<WorkspaceId, std::string>;

void write_file(JsonWriter& out, const desk::BlobFindingFile& file, const Names& names) {
  const auto name = names.find(file.workspace_id);
  out.member("workspace_id", file.workspace_id.text());
  out.member_or_null("workspace_name", name == names.end() ? std::string() : name->second);
  out.member("file_id", file.id.text());
  out.member("name", file.name);
  out.member("size", file.size);
}

// Content in the row itself has neither a place nor a key.
std::string_view place_of(const desk::BlobFinding& finding) {
  if (finding.place) return name_of(*finding.place);
  const auto placed = parse_key(finding.blob);
  return finding.blob.empty() || !placed ? std::string_view() : name_of(placed->place);
}

void write_finding(JsonWriter& out, const desk::BlobFinding& finding, const Names& names) {
  out.member("fault", name_of(finding.fault));
  out.member("remedy", name_of(finding.remedy));
  out.member_or_null("place", place_of(finding));
  out.member_or_null("blob", finding.blob);
  if (finding.file) write_file(out, *finding.file, names);
  out.member_if("reason", finding.reason);
}

std::string written(const Context& context, const desk::BlobCheckReport& report) {
  Names names;
  for (const desk::BlobFinding& finding : report.findings) {
    if (!finding.file || names.contains(finding.file->workspace_id)) continue;
    const auto workspace = context.workspaces.find(finding.file->workspace_id);
    if (workspace) names.emplace(workspace->id, workspace->name);
  }
  return json_object([&](JsonWriter& out) {
    out.member("state", name_of(report.state));
    out.member("fix", report.mend);
    out.member_or_null("started_at", report.started_at);
    out.member_or_null("ended_at", report.ended_at);
    desk::write_counts(out, report);
    out.member("wrong", report.wrong());
    out.member_or_null("reason", report.reason);
    out.objects("findings", report.findings, [&](const auto& finding) { write_finding(out, finding, names); });
  });
}

Result<bool> wants_fix(const http::Request& request) {
  const auto body = json_body(request, BodyMay::be_absent);
  if (!body) return body.error();
  Fields fields(*body);
  const bool fix = fields.flag("fix");
  return fields.result(fix);
}

}  // namespace

http::Response start_blob_check(const Context& context, http::Request& request) {
  const auto fix = wants_fix(request);
  if (!fix) return answer(fix.error());
  using Mend = desk::BlobCheck::Mend;
  const auto started = context.blob_check->start(*fix ? Mend::yes : Mend::no);
  return started ? http::json(202, written(context, *started)) : answer(started.error());
}

http::Response read_blob_check(const Context& context, http::Request&) {
  return http::json(200, written(context, context.blob_check->report()));
}

}  // namespace restante::api
