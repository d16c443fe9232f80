#include "cli/server/move.h"

#include <gmock/gmock.h>

#include "cli/terminal/failed.h"
#include "cli/terminal/progress.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

MoveReport moved() {
  MoveReport report;
  report.from = {{"tokens", 12, sha256("t")}, {"workspaces", 3, sha256("w")}};
  report.to = report.from;
  report.data = "data";
  report.copied_data.files = 2;
  report.copied_data.bytes = 2048;
  return report;
}

TEST(MoveReport, ListsEachTableItsRowsAndWhetherTheTargetIsTheSame) {
  EXPECT_THAT(
      format_move(moved(), Colours::off),
      AllOf(HasSubstr("tokens      12    e3b98a4da31a127d  the same\n"), HasSubstr("Moved 15 rows of 2 tables."),
            HasSubstr("belong to the new database now"), HasSubstr("To go back"),
            HasSubstr("restante blobs adopt --force\n"), HasSubstr("2 files (2.0 KiB) stay in data")));
}

TEST(MoveReport, ShowsWhatDiffers) {
  auto report = moved();
  report.outcome = MoveReport::Outcome::different;
  report.to[0].rows = 11;
  report.to[1].digest = {};
  EXPECT_THAT(format_move(report, Colours::off),
              AllOf(HasSubstr("differs: 11 rows"), HasSubstr("as many, but not the same"), HasSubstr("not the same.")));
}

TEST(MoveReport, OfADryRunShowsWhetherTheTargetCanBeUsed) {
  auto report = moved();
  report.to.clear();
  report.outcome = MoveReport::Outcome::would_move;
  report.copies = true;
  EXPECT_THAT(format_move(report, Colours::off),
              AllOf(HasSubstr("Would move 15 rows"), HasSubstr("would be copied to data"), Not(HasSubstr("TARGET"))));
  report.target = TargetState::moving;
  report.resumed_at = 7;
  EXPECT_THAT(format_move(report, Colours::off), HasSubstr("7 of which are there already"));
  report.target = TargetState::not_empty;
  EXPECT_THAT(format_move(report, Colours::off), HasSubstr("cannot move"));
}

TEST(MoveReport, ShowsThatObjectsStayWhereTheyAre) {
  auto report = moved();
  EXPECT_THAT(format_move(report, Colours::off), Not(HasSubstr("Objects")));
  report.objects = 3;
  EXPECT_THAT(format_move(report, Colours::off), HasSubstr("Objects in S3: 3; they stay in their bucket"));
  EXPECT_THAT(move_json(report), HasSubstr(R"("objects":3)"));
}

TEST(MoveReport, IsOneJsonObjectForScripts) {
  auto report = moved();
  EXPECT_THAT(
      move_json(report),
      AllOf(HasSubstr(R"({"outcome":"moved","target":"empty","rows":15,"resumed_at":0,"tables":[{"name":"tokens")"),
            HasSubstr(R"("target_rows":12)"), HasSubstr(R"("files":{"data":"data","files":2,"bytes":2048,)")));
  report.outcome = MoveReport::Outcome::same;
  report.target = TargetState::moving;
  EXPECT_THAT(move_json(report), HasSubstr(R"({"outcome":"same","target":"moving")"));
  report.outcome = MoveReport::Outcome::different;
  report.target = TargetState::not_empty;
  EXPECT_THAT(move_json(report), HasSubstr(R"({"outcome":"different","target":"inhabited")"));
}

TEST(Progress, CountsFilesToo) {
  EXPECT_EQ(format_progress(3, 3, std::chrono::seconds(2), 100, ProgressUnit::files),
            "[==============================] 100 %  3 files of 3 files  1 files/s");
}

TEST(Progress, CountsRowsToo) {
  EXPECT_EQ(format_progress(5000, 20000, std::chrono::seconds(2), 100, ProgressUnit::rows),
            "[=======>                      ]  25 %  5000 rows of 20000 rows  2500 rows/s  6 s left");
}

}  // namespace
}  // namespace restante::cli
