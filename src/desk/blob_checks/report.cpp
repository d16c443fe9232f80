#include "desk/blob_checks/report.h"

#include "base/json.h"
#include "base/text.h"

namespace restante::desk {
namespace {

using State = BlobCheckReport::State;

constexpr JsonLimits kFindingsLimits{8, 1'000'000};

void write_file(JsonWriter& out, const BlobFindingFile& file) {
  out.member("workspace_id", file.workspace_id.text());
  out.member("file_id", file.id.text());
  out.member("name", file.name);
  out.member("size", file.size);
}

void write_finding(JsonWriter& out, const BlobFinding& finding) {
  out.begin_object();
  out.member("fault", name_of(finding.fault));
  out.member("remedy", name_of(finding.remedy));
  if (!finding.blob.empty()) out.member("blob", finding.blob);
  if (finding.file) write_file(out, *finding.file);
  if (!finding.reason.empty()) out.member("reason", cut_utf8(finding.reason, kMaxReasonBytes));
  if (finding.place) out.member("place", name_of(*finding.place));
  out.end_object();
}

std::int64_t number_of(const Json& from, std::string_view key) {
  const Json* found = from.find(key);
  return found ? found->integer().value_or(0) : 0;
}

std::string text_of(const Json& from, std::string_view key) {
  const Json* found = from.find(key);
  return found && found->if_string() ? *found->if_string() : std::string();
}

template <class Named, std::size_t N>
Named named(const std::array<Named, N>& all, const std::string& text) {
  for (const Named one : all) {
    if (name_of(one) == text) return one;
  }
  return all.front();
}

std::optional<BlobFindingFile> read_file(const Json& from) {
  const auto workspace = WorkspaceId::parse(text_of(from, "workspace_id"));
  const auto id = FileId::parse(text_of(from, "file_id"));
  if (!workspace || !id) return std::nullopt;
  BlobFindingFile file;
  file.workspace_id = *workspace;
  file.id = *id;
  file.name = text_of(from, "name");
  file.size = number_of(from, "size");
  return file;
}

BlobFinding read_finding(const Json& from) {
  constexpr std::array remedies = {BlobRemedy::none, BlobRemedy::marked, BlobRemedy::restored, BlobRemedy::dropped};
  return {named(kBlobFaults, text_of(from, "fault")),
          named(remedies, text_of(from, "remedy")),
          text_of(from, "blob"),
          read_file(from),
          text_of(from, "reason"),
          parse_place(text_of(from, "place"))};
}

State state_of(BlobCheckState kept) {
  switch (kept) {
    case BlobCheckState::running:
      return State::running;
    case BlobCheckState::done:
      return State::done;
    case BlobCheckState::stopped:
      return State::stopped;
    case BlobCheckState::failed:
      return State::failed;
  }
  return State::none;
}

}  // namespace

std::string_view name_of(BlobFault fault) {
  switch (fault) {
    case BlobFault::missing:
      return "missing";
    case BlobFault::changed:
      return "changed";
    case BlobFault::unreadable:
      return "unreadable";
    case BlobFault::orphan:
      return "orphan";
    case BlobFault::unfinished:
      return "unfinished";
    case BlobFault::out_of_reach:
      return "out_of_reach";
  }
  return "";
}

std::string_view name_of(BlobRemedy remedy) {
  switch (remedy) {
    case BlobRemedy::none:
      return "none";
    case BlobRemedy::marked:
      return "told";
    case BlobRemedy::restored:
      return "restored";
    case BlobRemedy::dropped:
      return "dropped";
  }
  return "";
}

std::string_view name_of(State state) {
  switch (state) {
    case State::none:
      return "none";
    case State::running:
      return "running";
    case State::done:
      return "done";
    case State::stopped:
      return "stopped";
    case State::failed:
      return "failed";
    case State::interrupted:
      return "interrupted";
  }
  return "";
}

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
  out.key("found");
  out.begin_object();
  for (const BlobFault fault : kBlobFaults) {
    out.member(name_of(fault), report.found.at(static_cast<std::size_t>(fault)));
  }
  out.end_object();
  out.member("mended", report.mended);
}

std::string write_progress(const BlobCheckReport& report) {
  JsonWriter out;
  out.begin_object();
  write_counts(out, report);
  if (!report.reason.empty()) out.member("reason", cut_utf8(report.reason, kMaxReasonBytes));
  out.end_object();
  return out.take();
}

std::string write_findings(const BlobCheckReport& report) {
  JsonWriter out;
  out.begin_array();
  for (const BlobFinding& finding : report.findings) write_finding(out, finding);
  out.end_array();
  return out.take();
}

// State::interrupted is never stored: read_report's caller derives it.
BlobCheckState kept_state(State state) {
  if (state == State::done) return BlobCheckState::done;
  if (state == State::stopped) return BlobCheckState::stopped;
  return state == State::failed ? BlobCheckState::failed : BlobCheckState::running;
}

BlobCheckReport read_report(const BlobCheckRow& row) {
  BlobCheckReport report;
  report.state = state_of(row.state);
  report.mend = row.mend;
  report.started_at = row.begun_at;
  report.ended_at = row.ended_at;
  const auto progress = parse_json(row.progress);
  const auto findings = parse_json(row.findings, kFindingsLimits);
  if (progress) {
    report.files = number_of(*progress, "files");
    report.all_files = number_of(*progress, "all_files");
    report.blobs = number_of(*progress, "blobs");
    report.bytes = number_of(*progress, "bytes");
    report.mended = number_of(*progress, "mended");
    report.reason = text_of(*progress, "reason");
    if (const Json* found = progress->find("found")) {
      for (const BlobFault fault : kBlobFaults) {
        report.found.at(static_cast<std::size_t>(fault)) = number_of(*found, name_of(fault));
      }
    }
  }
  if (findings && findings->if_array()) {
    for (const Json& one : *findings->if_array()) report.findings.push_back(read_finding(one));
  }
  return report;
}

}  // namespace restante::desk
