#include "desk/blob_checks/report.h"

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace restante::desk {
namespace {

using State = BlobCheckReport::State;

constexpr JsonLimits kFindingsLimits{8, 1'000'000};
constexpr Names<BlobFault, BlobFault::out_of_reach> kFaults{"missing", "changed",    "unreadable",
                                                            "orphan",  "unfinished", "out_of_reach"};
constexpr Names<BlobRemedy, BlobRemedy::dropped> kRemedies{"none", "told", "restored", "dropped"};
constexpr Names<State, State::interrupted> kStates{"none", "running", "done", "stopped", "failed", "interrupted"};

void write_file(JsonWriter& out, const BlobFindingFile& file) {
  out.member("workspace_id", file.workspace_id.text());
  out.member("file_id", file.id.text());
  out.member("name", file.name);
  out.member("size", file.size);
}

void write_finding(JsonWriter& out, const BlobFinding& finding) {
  out.object([&] {
    out.member("fault", name_of(finding.fault));
    out.member("remedy", name_of(finding.remedy));
    out.member_if("blob", finding.blob);
    if (finding.file) write_file(out, *finding.file);
    out.member_if("reason", cut_utf8(finding.reason, kMaxReasonBytes));
    if (finding.place) out.member("place", name_of(*finding.place));
  });
}

std::optional<BlobFindingFile> read_file(const Json& from) {
  const auto workspace = WorkspaceId::parse(from.text("workspace_id"));
  const auto id = FileId::parse(from.text("file_id"));
  if (!workspace || !id) return std::nullopt;
  BlobFindingFile file;
  file.workspace_id = *workspace;
  file.id = *id;
  file.name = from.text("name");
  file.size = from.whole("size");
  return file;
}

BlobFinding read_finding(const Json& from) {
  return {kFaults.parse(from.text("fault")).value_or(BlobFault::missing),
          kRemedies.parse(from.text("remedy")).value_or(BlobRemedy::none),
          from.text("blob"),
          read_file(from),
          from.text("reason"),
          parse_place(from.text("place"))};
}

}  // namespace

std::string_view name_of(BlobFault fault) { return kFaults.of(fault); }
std::string_view name_of(BlobRemedy remedy) { return kRemedies.of(remedy); }
std::string_view name_of(State state) { return kStates.of(state); }

std::int64_t BlobCheckReport::wrong() const {
  std::int64_t all = 0;
  for (const std::int64_t one : found) all += one;
  return all - mended;
}

void write_counts(JsonWriter& out, const BlobCheckReport& report) {
  out.member("files", report.files);
  out.member("all_files", report.all_files);
  out.member("blobs", report.blobs);
  out.member("bytes", report.bytes);
  out.object("found", [&] {
    for (const BlobFault fault : kBlobFaults) {
      out.member(name_of(fault), report.found.at(static_cast<std::size_t>(fault)));
    }
  });
  out.member("mended", report.mended);
}

std::string write_progress(const BlobCheckReport& report) {
  return json_object([&](JsonWriter& out) {
    write_counts(out, report);
    out.member_if("reason", cut_utf8(report.reason, kMaxReasonBytes));
  });
}

std::string write_findings(const BlobCheckReport& report) {
  JsonWriter out;
  out.array(report.findings, [&](const BlobFinding& finding) { write_finding(out, finding); });
  return out.take();
}

// The states that are stored have the same names there. State::interrupted is not: read_report's caller derives it.
BlobCheckState kept_state(State state) {
  return parse_blob_check_state(name_of(state)).value_or(BlobCheckState::running);
}

BlobCheckReport read_report(const BlobCheckRow& row) {
  BlobCheckReport report;
  report.state = kStates.parse(name_of(row.state)).value_or(State::none);
  report.mend = row.mend;
  report.started_at = row.begun_at;
  report.ended_at = row.ended_at;
  if (const auto progress = parse_json(row.progress)) {
    report.files = progress->whole("files");
    report.all_files = progress->whole("all_files");
    report.blobs = progress->whole("blobs");
    report.bytes = progress->whole("bytes");
    report.mended = progress->whole("mended");
    report.reason = progress->text("reason");
    if (const Json* found = progress->find("found")) {
      for (const BlobFault fault : kBlobFaults) {
        report.found.at(static_cast<std::size_t>(fault)) = found->whole(name_of(fault));
      }
    }
  }
  const auto findings = parse_json(row.findings, kFindingsLimits);
  if (findings && findings->if_array()) {
    for (const Json& one : *findings->if_array()) report.findings.push_back(read_finding(one));
  }
  return report;
}

}  // namespace restante::desk
