#include "cli/delegations/tasks.h"

#include <gmock/gmock.h>

#include "cli/remote/test_remote.h"

namespace restante::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string show(std::string_view task) { return format_task(json(task), {}, kNow, Colours::off); }

TEST(TaskShown, TextOfOtherAgentsCannotControlTheTerminal) {
  const auto shown = show(
      R"({"delegation_id":"d","status":"completed","task":"a\u001b[2Jb\n\tc\u009b1m","result":"\u001b]0;x\u0007y\r\n",
          "late_answer":"\u202eback"})");
  EXPECT_THAT(shown, AllOf(HasSubstr("a [2Jb\n\tc 1m\n"), HasSubstr(" ]0;x y"), HasSubstr(" back\n")));
  for (const char c : {'\x1b', '\x07', '\r'}) EXPECT_EQ(shown.find(c), std::string::npos);
  EXPECT_EQ(shown.find("\u009b"), std::string::npos);
}

TEST(TaskShown, TheFilesOfTheTaskAndOfItsResultAreListedAlsoWhenTheResultHasOnlyFiles) {
  const auto shown = show(
      R"({"delegation_id":"d","status":"completed","task":"draw","attachments":[{"uri":"platform-pending:w/f1","name":"data.csv","size":2048}],
          "result":null,"result_attachments":[{"uri":"platform-pending:w/f2","name":"chart.png"}]})");
  EXPECT_THAT(shown, AllOf(HasSubstr("Files of the task:\n"), HasSubstr("data.csv"), HasSubstr("2.0 KiB"),
                           HasSubstr("platform-pending:w/f1")));
  EXPECT_THAT(shown, AllOf(HasSubstr("Files of the result:\n"), HasSubstr("chart.png"), Not(HasSubstr("\nResult:")),
                           Not(HasSubstr("late"))));
  EXPECT_THAT(show(R"({"delegation_id":"d","status":"queued","task":"x","attachments":[]})"), Not(HasSubstr("Files")));
}

TEST(TaskShown, TheStateIsShownOnce) {
  EXPECT_EQ(describe_task(json(R"({"status":"stuck","error_detail":"stuck: the receiving agent is silent"})")).text,
            "stuck: the receiving agent is silent");
  EXPECT_EQ(describe_task(json(R"({"status":"failed","error_detail":"deadline exceeded"})")).text,
            "failed: deadline exceeded");
  EXPECT_EQ(describe_task(json(R"({"status":"failed","error_detail":null})")).text, "failed");
}

TEST(TaskList, ShowsThatThereMayBeMoreThanWereRequested) {
  const Json one = json(R"({"delegation_id":"d","status":"queued","summary":"x"})");
  EXPECT_THAT(format_tasks(Json::Array(499, one), {}, kNow, Colours::off), Not(HasSubstr("more")));
  EXPECT_THAT(format_tasks(Json::Array(500, one), {}, kNow, Colours::off),
              EndsWith("\nThese are 500 tasks; there may be more. --workspace and --status narrow it down.\n"));
}

TEST(TaskOutcome, APersonIsShownTheResultAndAScriptGetsIt) {
  const Json task = json(R"({"delegation_id":"d","status":"completed","result":"\u001b[31mred"})");
  EXPECT_EQ(format_outcome(task, {}, Reader::person, Colours::off), " [31mred\n");
  EXPECT_EQ(format_outcome(task, {}, Reader::script, Colours::off), "\x1b[31mred\n");
}

TEST(TaskOutcome, AFileOfTheResultIsShownWithItsPathOrWithTheCommandThatTakesIt) {
  const Json task = json(R"({"delegation_id":"d","status":"completed","result":"ok"})");
  EXPECT_EQ(format_outcome(task, {{"a.png", 2048, "/x/a.png", {}}}, Reader::person, Colours::off),
            "ok\nfile  /x/a.png\n");
  EXPECT_EQ(format_outcome(task, {{"a.png", 2048, {}, {}}}, Reader::person, Colours::off),
            "ok\nfile  a.png (2.0 KiB), on the server; restante task show d --save DIR takes it\n");
}

}  // namespace
}  // namespace restante::cli
