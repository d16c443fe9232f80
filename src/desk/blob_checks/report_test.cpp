#include "desk/blob_checks/report.h"

#include <gtest/gtest.h>

namespace restante::desk {
namespace {

using State = BlobCheckReport::State;

const Time kNow = Time(std::chrono::seconds(1'800'000'000));

BlobCheckRow kept(const BlobCheckReport& report) {
  return {kept_state(report.state), report.mend,    *report.started_at,
          WorkerId::make(kNow),     kNow,           write_progress(report),
          write_findings(report),   report.ended_at};
}

BlobCheckReport full() {
  BlobCheckReport report;
  report.state = State::failed;
  report.mend = true;
  report.started_at = kNow;
  report.ended_at = kNow + std::chrono::seconds(5);
  report.files = 3;
  report.all_files = 4;
  report.blobs = 5;
  report.bytes = 6'000'000'000;
  report.found = {1, 2, 3, 4, 5, 6};
  report.mended = 7;
  report.reason = "the bucket \"b\" does not answer\n";
  Upload upload;
  upload.workspace_id = WorkspaceId::make(kNow);
  upload.id = FileId::make(kNow);
  upload.name = "Grüße \"\\ \t.pdf";
  upload.size = 123'456'789'012;
  report.findings.push_back({BlobFault::changed, BlobRemedy::restored, "s3:abc", upload, "why"});
  report.findings.push_back({BlobFault::orphan, BlobRemedy::dropped, "inline:abc"});
  report.findings.push_back({BlobFault::out_of_reach, BlobRemedy::none, {}, {}, "no answer", Place::s3});
  return report;
}

TEST(BlobCheckReport, AReportThatIsWrittenIsReadBackUnchanged) {
  const BlobCheckReport was = full();
  const BlobCheckReport is = read_report(kept(was));
  EXPECT_EQ(std::tie(is.state, is.mend, is.started_at, is.ended_at),
            std::tie(was.state, was.mend, was.started_at, was.ended_at));
  EXPECT_EQ(std::tie(is.files, is.all_files, is.blobs, is.bytes, is.mended),
            std::tie(was.files, was.all_files, was.blobs, was.bytes, was.mended));
  EXPECT_EQ(is.found, was.found);
  EXPECT_EQ(is.wrong(), 14);
  EXPECT_EQ(is.reason, was.reason);
  ASSERT_EQ(is.findings.size(), was.findings.size());
  for (std::size_t i = 0; i < is.findings.size(); ++i) {
    const BlobFinding& a = is.findings[i];
    const BlobFinding& b = was.findings[i];
    EXPECT_EQ(std::tie(a.fault, a.remedy, a.blob, a.reason, a.place),
              std::tie(b.fault, b.remedy, b.blob, b.reason, b.place));
    ASSERT_EQ(a.file.has_value(), b.file.has_value());
    if (!a.file) continue;
    EXPECT_EQ(std::tie(a.file->workspace_id, a.file->id, a.file->name, a.file->size),
              std::tie(b.file->workspace_id, b.file->id, b.file->name, b.file->size));
  }
}

TEST(BlobCheckReport, StatesAreStoredUnchanged) {
  for (const State state : {State::running, State::done, State::stopped, State::failed}) {
    BlobCheckReport report = full();
    report.state = state;
    EXPECT_EQ(read_report(kept(report)).state, state) << name_of(state);
  }
}

// A thousand findings, with the longest allowed names and reasons.
TEST(BlobCheckReport, AllKeptFindingsAreReadBackAndTheirReasonsAreBounded) {
  BlobCheckReport report = full();
  report.findings.assign(1'000, BlobFinding(report.findings.front()));
  for (BlobFinding& finding : report.findings) {
    finding.file->name = std::string(255, '"');
    finding.reason = std::string(100'000, 'x');
  }
  EXPECT_LT(write_findings(report).size(), 2u << 20);
  const BlobCheckReport is = read_report(kept(report));
  ASSERT_EQ(is.findings.size(), 1'000u);
  EXPECT_EQ(is.findings.back().reason.size(), kMaxReasonBytes);
  EXPECT_EQ(is.findings.back().file->name, std::string(255, '"'));
}

TEST(BlobCheckReport, TextOfAnotherVersionIsReadAsFarAsPossible) {
  BlobCheckRow row = kept(full());
  row.progress = R"({"files":"many","bytes":9,"found":[],"novel":true})";
  row.findings = R"([{"fault":"novel","file_id":"not one","size":{}},7])";
  const BlobCheckReport is = read_report(row);
  EXPECT_EQ(is.files, 0);
  EXPECT_EQ(is.bytes, 9);
  EXPECT_EQ(is.wrong(), 0);
  ASSERT_EQ(is.findings.size(), 2u);
  EXPECT_FALSE(is.findings[0].file);
  row.progress = row.findings = "not JSON";
  EXPECT_EQ(read_report(row).state, State::failed);
  EXPECT_TRUE(read_report(row).findings.empty());
}

}  // namespace
}  // namespace restante::desk
