#include "cli/terminal/table.h"

#include <gtest/gtest.h>

namespace restante::cli {
namespace {

using namespace std::chrono_literals;

const Time kNow = *parse_time("2026-11-15T12:00:00Z");

TEST(Table, ColumnsLineUpAndLinesEndWithoutBlanks) {
  EXPECT_EQ(format_table({"NAME", "ID"}, {{{"a"}, {"1"}}, {{"longer name"}, {""}}}, Colours::off),
            "NAME         ID\n"
            "a            1\n"
            "longer name\n");
}

TEST(Table, WideAndCombiningCharactersTakeTheColumnsATerminalGivesThem) {
  EXPECT_EQ(display_width("研究"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(display_width("📮"), 2u);
  EXPECT_EQ(format_table({"NAME", "X"}, {{{"研究"}, {"1"}}, {{"abcd"}, {"2"}}}, Colours::off),
            "NAME  X\n"
            "研究  1\n"
            "abcd  2\n");
}

TEST(Table, ColoursAreOnlyUsedWhenRequestedAndDoNotMoveColumns) {
  const std::vector<TableRow> rows = {{{"on", Paint::good}, {"x"}}, {{"offline", Paint::bad}, {"y"}}};
  EXPECT_EQ(format_table({"S", "I"}, rows, Colours::off).find('\033'), std::string::npos);
  EXPECT_EQ(format_table({"S", "I"}, rows, Colours::on),
            "\033[2mS\033[0m        \033[2mI\033[0m\n"
            "\033[32mon\033[0m       x\n"
            "\033[31moffline\033[0m  y\n");
}

TEST(Table, TextFromTheServerCannotMoveTheCursorOrReverseTheLine) {
  const auto shown = format_table({"N", "I"}, {{{"a\033[31m\nb\u202ec\u009bd"}, {"1"}}}, Colours::off);
  EXPECT_EQ(shown,
            "N             I\n"
            "a [31m b c d  1\n");
  EXPECT_EQ(format_facts({{"Name", {"a\r\nb"}}}, Colours::off), "Name  a  b\n");
}

TEST(Table, ARowThatIsTooShortIsFilledUp) {
  EXPECT_EQ(format_table({"A", "B", "C"}, {{{"1"}}}, Colours::off), "A  B  C\n1\n");
}

TEST(Facts, EmptyOnesAreLeftOut) {
  EXPECT_EQ(format_facts({{"Name", {"x"}}, {"A long label", {""}}, {"Id", {"1"}}}, Colours::off),
            "Name  x\n"
            "Id    1\n");
}

TEST(Ago, ShowsTheTimeInTheUnitAPersonWouldUse) {
  EXPECT_EQ(format_ago(kNow, kNow), "just now");
  EXPECT_EQ(format_ago(kNow - 4s, kNow), "just now");
  EXPECT_EQ(format_ago(kNow - 5s, kNow), "5 s ago");
  EXPECT_EQ(format_ago(kNow - 59s, kNow), "59 s ago");
  EXPECT_EQ(format_ago(kNow - 60s, kNow), "1 min ago");
  EXPECT_EQ(format_ago(kNow - 119s, kNow), "1 min ago");
  EXPECT_EQ(format_ago(kNow - 120s, kNow), "2 min ago");
  EXPECT_EQ(format_ago(kNow - 1h, kNow), "1 h ago");
  EXPECT_EQ(format_ago(kNow - 47h, kNow), "47 h ago");
  EXPECT_EQ(format_ago(kNow - 48h, kNow), "2 days ago");
  EXPECT_EQ(format_ago(kNow - 30 * 24h, kNow), "30 days ago");
  EXPECT_EQ(format_ago(kNow - 31 * 24h, kNow), "2026-10-15");
}

TEST(Ago, AFutureTimeBeginsWithIn) {
  EXPECT_EQ(format_ago(kNow + 24h, kNow), "in 24 h");
  EXPECT_EQ(format_ago(kNow + 90s, kNow), "in 1 min");
}

TEST(Ago, ReadsTheServersTimesAndKeepsOtherText) {
  EXPECT_EQ(format_ago("2026-11-15T11:58:00.000000Z", kNow), "2 min ago");
  EXPECT_EQ(format_ago("", kNow), "");
  EXPECT_EQ(format_ago("soon", kNow), "soon");
}

}  // namespace
}  // namespace restante::cli
