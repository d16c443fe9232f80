#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/blobs/blobs.h"
#include "cli/remote/remote.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(const std::string& answer) { return format_blob_check(parse_answer(answer), Colours::off); }

TEST(BlobsCheck, ReportsThatAllIsWell) {
  EXPECT_EQ(
      shown(
          R"({"state":"done","fix":false,"files":1,"bytes":2048,"found":{"missing":0},"mended":0,"wrong":0,"findings":[]})"),
      "Looked at 1 file and read 2.0 KiB.\nAll is well.\n");
}

TEST(BlobsCheck, NamesEachFileItsWorkspaceAndWhatWasDone) {
  const std::string text = shown(
      R"({"state":"done","fix":true,"files":9,"bytes":0,"found":{"missing":1,"changed":2,"unreadable":1,"orphan":1,"unfinished":2},)"
      R"("mended":6,"wrong":1,"findings":[)"
      R"({"fault":"missing","remedy":"restored","place":"s3","blob":"s3:1","workspace_name":"Laptop","file_id":"f1","name":"a.pdf","size":5},)"
      R"({"fault":"changed","remedy":"told","place":null,"blob":null,"workspace_id":"w2","workspace_name":null,"file_id":"f2","name":"b.txt","size":5},)"
      R"({"fault":"unreadable","remedy":"none","place":"dir","blob":"3","file_id":"f3","name":"c.txt","size":5,"reason":"the disk is broken"},)"
      R"({"fault":"orphan","remedy":"dropped","place":"inline","blob":"inline:4"}]})");
  EXPECT_THAT(text, AllOf(HasSubstr("missing"), HasSubstr("a.pdf"), HasSubstr("Laptop"), HasSubstr("copied again")));
  EXPECT_THAT(text, AllOf(HasSubstr("in the database"), HasSubstr("b.txt"), HasSubstr("w2"), HasSubstr("marked")));
  EXPECT_THAT(text, AllOf(HasSubstr("the disk is broken"), HasSubstr("belongs to no file"), HasSubstr("inline:4")));
  EXPECT_THAT(text, AllOf(HasSubstr("  1 copy is missing\n"), HasSubstr("  2 copies have other content"),
                          HasSubstr("  2 uploads were begun and never finished\n"),
                          HasSubstr("1 fault could not be repaired")));
}

TEST(BlobsCheck, ShowsHowToRepairAndWhenNothingIsLeftToRepair) {
  const std::string found = R"("files":2,"bytes":1,"found":{"orphan":2},"findings":[]})";
  EXPECT_THAT(shown(R"({"state":"done","fix":false,"mended":0,"wrong":2,)" + found),
              AllOf(HasSubstr("2 blobs belong to no file"), HasSubstr("2 faults were left as they are"),
                    HasSubstr("restante blobs check --fix")));
  EXPECT_THAT(shown(R"({"state":"done","fix":true,"mended":2,"wrong":0,)" + found),
              AllOf(HasSubstr("repaired"), Not(HasSubstr("--fix"))));
}

TEST(BlobsCheck, ACheckThatDidNotFinishDoesNotReportThatAllIsWell) {
  for (const char* state : {"stopped", "failed", "running", "interrupted"}) {
    const std::string text =
        shown(std::string(R"({"state":")") + state +
              R"(","fix":true,"files":2,"bytes":1,"found":{},"mended":0,"wrong":0,"findings":[]})");
    EXPECT_THAT(text, AllOf(Not(HasSubstr("All is well")), Not(HasSubstr("repaired")), HasSubstr("not all"))) << state;
  }
}

TEST(BlobsCheck, NamesAPlaceThatWasOutOfReachAndWhy) {
  const std::string text = shown(
      R"({"state":"done","fix":true,"files":2,"bytes":1,"found":{"out_of_reach":1},"mended":0,"wrong":1,"findings":[)"
      R"({"fault":"out_of_reach","remedy":"none","place":"s3","blob":null,"reason":"nobody answers"}]})");
  EXPECT_THAT(text, AllOf(HasSubstr("out of reach"), HasSubstr("s3"), HasSubstr("nobody answers"),
                          HasSubstr("  1 place was not looked through\n"), Not(HasSubstr("All is well"))));
}

}  // namespace
}  // namespace restante::cli
