#include "http/ranges.h"

#include <gtest/gtest.h>

#include <string>

#include "base/test_rows.h"

namespace restante::http {
namespace {

constexpr std::string_view kTag = "\"abc\"";

// "whole", "none", or the first and last byte that are sent.
std::string chosen(std::string_view range, std::uint64_t size = 1000, std::string_view if_range = "") {
  const auto choice = choose_range(range, if_range, kTag, size);
  if (choice.answer == RangeAnswer::unsatisfiable) return "none";
  if (choice.answer == RangeAnswer::whole) {
    EXPECT_EQ(choice.range.offset, 0u);
    EXPECT_EQ(choice.range.length, size);
    return "whole";
  }
  EXPECT_GT(choice.range.length, 0u);
  EXPECT_LE(choice.range.length, size);
  EXPECT_LE(choice.range.offset, size - choice.range.length);
  return std::to_string(choice.range.offset) + "-" + std::to_string(choice.range.offset + choice.range.length - 1);
}

TEST(Ranges, TheExamplesOfRfc9110) {
  expect_rows([](std::string_view range) { return chosen(range, 10000); }, {{"bytes=0-499", "0-499"},
                                                                            {"bytes=500-999", "500-999"},
                                                                            {"bytes=-500", "9500-9999"},
                                                                            {"bytes=9500-", "9500-9999"},
                                                                            {"bytes=0-0", "0-0"},
                                                                            {"bytes=-1", "9999-9999"}});
}

TEST(Ranges, AnEndPastTheFileIsTheEndOfTheFile) {
  EXPECT_EQ(chosen("bytes=0-1000"), "0-999");
  EXPECT_EQ(chosen("bytes=999-18446744073709551615"), "999-999");
  EXPECT_EQ(chosen("bytes=-1000"), "0-999");
  EXPECT_EQ(chosen("bytes=-18446744073709551615"), "0-999");
  EXPECT_EQ(chosen("bytes=0-", 1), "0-0");
  EXPECT_EQ(chosen("bytes=18446744073709551613-", 18446744073709551614u), "18446744073709551613-18446744073709551613");
}

TEST(Ranges, ARangeThatBeginsPastTheFileCannotBeSatisfied) {
  for (const char* range :
       {"bytes=1000-", "bytes=1000-1001", "bytes=18446744073709551615-18446744073709551615", "bytes=-0"}) {
    EXPECT_EQ(chosen(range), "none") << range;
  }
  for (const char* range : {"bytes=0-", "bytes=0-0", "bytes=-1"}) EXPECT_EQ(chosen(range, 0), "none") << range;
  EXPECT_EQ(chosen("bytes=999-"), "999-999");
}

TEST(Ranges, MalformedRangesSeveralRangesAndOtherUnitsGiveTheWholeFile) {
  for (const char* range : {"",
                            "bytes",
                            "bytes=",
                            "bytes=-",
                            "bytes=a-b",
                            "bytes=1",
                            "bytes=2-1",
                            "bytes=1-2-3",
                            "bytes=--1",
                            "bytes=+1-2",
                            "bytes=1-+2",
                            "bytes=0x1-2",
                            "bytes=0-1,5-6",
                            "bytes=0-,",
                            "items=0-1",
                            "bytes 0-1",
                            "bytes=0 - 1",
                            "bytes=0- 1",
                            "bytes=0 -1",
                            "bytes:0-1",
                            "byte=0-1",
                            "bytes=99999999999999999999-",
                            "bytes=0-99999999999999999999",
                            "bytes=-99999999999999999999"}) {
    EXPECT_EQ(chosen(range), "whole") << range;
  }
}

TEST(Ranges, TheUnitMayBeWrittenInAnyLetterCaseAndTheRangeHaveBlanksAround) {
  EXPECT_EQ(chosen("Bytes=0-1"), "0-1");
  EXPECT_EQ(chosen("bytes= 0-1\t"), "0-1");
}

TEST(Ranges, IfRangeMustNameThisVersionExactly) {
  EXPECT_EQ(chosen("bytes=0-1", 1000, "\"abc\""), "0-1");
  for (const char* other :
       {"\"abd\"", "W/\"abc\"", "abc", "\"ABC\"", "Sun, 15 Nov 2026 03:28:00 GMT", "*", "\"abc\", \"x\""})
    EXPECT_EQ(chosen("bytes=0-1", 1000, other), "whole") << other;
  EXPECT_EQ(chosen("bytes=5000-", 1000, "\"old\""), "whole");
}

TEST(Ranges, AListOfTagsNamesATag) {
  for (const char* list : {"*", " * ", "\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\" ,\"y\"", ", \"abc\""})
    EXPECT_TRUE(etag_matches(list, kTag)) << list;
  for (const char* list :
       {"", "\"x\"", "abc", "\"abc", "\"ABC\"", "w/\"abc\"", "W/ \"abc\"", "\"abc\" \"x\"", "**", "*, \"x\""})
    EXPECT_FALSE(etag_matches(list, kTag)) << list;
}

}  // namespace
}  // namespace restante::http
