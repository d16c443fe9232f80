#include "http/ranges.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/test_rows.h"
#include "http/head_parser.h"

namespace restante::http {
namespace {

constexpr std::string_view kTag = "\"abc\"";

// "whole", "none", "304", "412", or the first and last byte that are sent.
std::string chosen(const FileConditions& conditions, std::uint64_t size = 1000) {
  const auto choice = choose_answer(conditions, kTag, size);
  if (choice.answer == FileAnswer::unsatisfiable) return "none";
  if (choice.answer == FileAnswer::not_modified) return "304";
  if (choice.answer == FileAnswer::precondition_failed) return "412";
  if (choice.answer == FileAnswer::whole) {
    EXPECT_EQ(choice.range.offset, 0u);
    EXPECT_EQ(choice.range.length, size);
    return "whole";
  }
  EXPECT_GT(choice.range.length, 0u);
  EXPECT_LE(choice.range.length, size);
  EXPECT_LE(choice.range.offset, size - choice.range.length);
  return std::to_string(choice.range.offset) + "-" + std::to_string(choice.range.offset + choice.range.length - 1);
}

std::string chosen(std::string_view range, std::uint64_t size = 1000,
                   const std::optional<std::string>& if_range = std::nullopt) {
  FileConditions conditions;
  conditions.range = range;
  conditions.if_range = if_range;
  return chosen(conditions, size);
}

// What a request with these header lines gets.
std::string requested(std::string_view headers, std::string_view method = "GET") {
  Request request;
  EXPECT_FALSE(
      parse_head(std::string(method) + " / HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n", {}, request));
  return chosen(FileConditions(request));
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
       {"", "\"abd\"", "W/\"abc\"", "abc", "\"ABC\"", "Sun, 15 Nov 2026 03:28:00 GMT", "*", "\"abc\", \"x\""})
    EXPECT_EQ(chosen("bytes=0-1", 1000, other), "whole") << other;
  EXPECT_EQ(chosen("bytes=5000-", 1000, "\"old\""), "whole");
}

TEST(Conditions, IfNoneMatchIsNotModifiedWhenItNamesTheTag) {
  FileConditions conditions;
  for (const char* list :
       {"*", " * ", "\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\" ,\"y\"", ", \"abc\""}) {
    conditions.if_none_match = list;
    EXPECT_EQ(chosen(conditions), "304") << list;
  }
  for (const char* list :
       {"", "\"x\"", "abc", "\"abc", "\"ABC\"", "w/\"abc\"", "W/ \"abc\"", "\"abc\" \"x\"", "**", "*, \"x\""}) {
    conditions.if_none_match = list;
    EXPECT_EQ(chosen(conditions), "whole") << list;
  }
}

TEST(Conditions, IfMatchFailsUnlessItNamesTheTagStrongly) {
  FileConditions conditions;
  for (const char* list : {"*", "\"abc\"", "\"x\", \"abc\"", "W/\"abc\", \"abc\""}) {
    conditions.if_match = list;
    EXPECT_EQ(chosen(conditions), "whole") << list;
  }
  for (const char* list : {"", "\"x\"", "W/\"abc\"", "abc", "\"ABC\"", "*, \"x\""}) {
    conditions.if_match = list;
    EXPECT_EQ(chosen(conditions), "412") << list;
  }
}

TEST(Conditions, AreEvaluatedInTheOrderOfRfc9110) {
  FileConditions conditions;
  conditions.if_match = "\"old\"";
  conditions.if_none_match = "\"abc\"";
  conditions.range = "bytes=5000-";
  EXPECT_EQ(chosen(conditions), "412");
  conditions.if_match = "\"abc\"";
  EXPECT_EQ(chosen(conditions), "304");
  conditions.if_none_match = "\"old\"";
  EXPECT_EQ(chosen(conditions), "none");
  conditions.if_range = "\"old\"";
  EXPECT_EQ(chosen(conditions), "whole");
}

TEST(Conditions, SeveralLinesAreOneListAndOfARangeNone) {
  EXPECT_EQ(requested("If-Match: \"x\"\r\nIf-Match: \"abc\"\r\n"), "whole");
  EXPECT_EQ(requested("If-None-Match: \"x\"\r\nif-none-match: \"abc\"\r\n"), "304");
  EXPECT_EQ(requested("Range: bytes=0-1\r\nRange: bytes=5-6\r\n"), "whole");
  EXPECT_EQ(requested("Range: bytes=0-1\r\nRange: bytes=0-1\r\n"), "whole");
  EXPECT_EQ(requested("Range:\r\nRange: bytes=0-1\r\n"), "whole");
  EXPECT_EQ(requested("Range: bytes=0-1\r\nIf-Range: \"abc\"\r\nIf-Range: \"abc\"\r\n"), "whole");
  EXPECT_EQ(requested("Range: bytes=0-1\r\nIf-Range:\r\nIf-Range: \"abc\"\r\n"), "whole");
}

TEST(Conditions, AHeaderWithoutAValueIsThere) {
  EXPECT_EQ(requested("Range: bytes=0-1\r\n"), "0-1");
  EXPECT_EQ(requested("Range: bytes=0-1\r\nIf-Range:\r\n"), "whole");
  EXPECT_EQ(requested("If-Match:\r\n"), "412");
  EXPECT_EQ(requested("If-None-Match:\r\n"), "whole");
  EXPECT_EQ(requested("Range:\r\n"), "whole");
}

TEST(Conditions, ARangeIsForAGetOnly) {
  EXPECT_EQ(requested("Range: bytes=0-1\r\n", "HEAD"), "whole");
  EXPECT_EQ(requested("Range: bytes=5000-\r\n", "HEAD"), "whole");
  EXPECT_EQ(requested("If-Match: \"x\"\r\n", "HEAD"), "412");
  EXPECT_EQ(requested("If-None-Match: \"abc\"\r\n", "HEAD"), "304");
}

}  // namespace
}  // namespace restante::http
