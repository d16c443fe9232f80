#include "base/clock.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/test_clock.h"
#include "base/test_rows.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

std::string again(std::string_view text) {
  const auto time = parse_time(text);
  return time ? format_time(*time) : "refused";
}

TEST(Clock, TimeIsWrittenWithMicrosecondsAndZ) {
  EXPECT_EQ(format_time(Time(0us)), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_time(Time(1us)), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(format_time(Time(951'782'399'999'999us)), "2000-02-28T23:59:59.999999Z");
  EXPECT_EQ(format_time(Time(std::chrono::sys_days(std::chrono::year(9999) / 12 / 31)) + 24h - 1us),
            "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_time(Time(-1us)), "1969-12-31T23:59:59.999999Z");
}

TEST(Clock, WellFormedTimesAreRead) {
  expect_rows(again, {{"2026-11-15T03:28:00Z", "2026-11-15T03:28:00.000000Z"},
                      {"2026-11-15t03:28:00z", "2026-11-15T03:28:00.000000Z"},
                      {"2026-11-15 03:28:00Z", "2026-11-15T03:28:00.000000Z"},
                      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"},
                      {"2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"},
                      {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
                      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"}});
}

TEST(Clock, UpToNineDecimalsAreReadAndCutToMicroseconds) {
  expect_rows(again, {{"2026-11-15T03:28:00.1Z", "2026-11-15T03:28:00.100000Z"},
                      {"2026-11-15T03:28:00.000001Z", "2026-11-15T03:28:00.000001Z"},
                      {"2026-11-15T03:28:00.1234567Z", "2026-11-15T03:28:00.123456Z"},
                      {"2026-11-15T03:28:00.999999999Z", "2026-11-15T03:28:00.999999Z"},
                      {"2026-11-15T03:28:00.0000000001Z", "refused"}});
}

TEST(Clock, OffsetsAreSubtracted) {
  expect_rows(again, {{"2026-11-15T03:28:00+02:00", "2026-11-15T01:28:00.000000Z"},
                      {"2026-11-15T03:28:00-02:30", "2026-11-15T05:58:00.000000Z"},
                      {"2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000000Z"},
                      {"2026-12-31T23:59:59.5-00:01", "2027-01-01T00:00:59.500000Z"},
                      {"2026-11-15T03:28:00-00:00", "2026-11-15T03:28:00.000000Z"}});
}

TEST(Clock, ALeapSecondIsReadAtMidnightOfUtcOnly) {
  expect_rows(again, {{"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"},
                      {"2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.500000Z"},
                      {"1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000000Z"},
                      {"2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00.000000Z"},
                      {"2016-12-31T23:59:61Z", "refused"},
                      {"2016-12-31T12:34:60Z", "refused"},
                      {"2016-12-31T23:59:60-08:00", "refused"}});
}

TEST(Clock, YearsOutsideOfTheRangeAreRefusedAlsoWithAnOffset) {
  for (const char* text : {"1969-12-31T23:59:59Z", "1970-01-01T00:59:59+01:00", "0000-01-01T00:00:00Z",
                           "9999-12-31T23:00:00-01:00", "9999-12-31T23:59:60Z", "10000-01-01T00:00:00Z"}) {
    EXPECT_EQ(again(text), "refused") << text;
  }
  EXPECT_EQ(again("1970-01-01T01:00:00+01:00"), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(again("9999-12-31T22:59:59.999999-01:00"), "9999-12-31T23:59:59.999999Z");
}

TEST(Clock, AnythingElseIsRefused) {
  for (const char* text : {"",
                           "now",
                           "2026",
                           "2026-11-15",
                           "20261115T032800Z",
                           "2026-11-15T03:28Z",
                           "2026-11-15T03:28:00",
                           "2026-11-15T03:28:00+02",
                           "2026-11-15T03:28:00+0200",
                           "2026-11-15T03:28:00+24:00",
                           "2026-11-15T03:28:00+02:60",
                           "2026-11-15T03:28:00 02:00",
                           "2026-11-15T24:00:00Z",
                           "2026-11-15T03:60:00Z",
                           "2026-11-15T03:28:00.Z",
                           "2026-11-15T03:28:00,5Z",
                           "2026-11-15T03:28:00ZZ",
                           "2026-11-15T03:28:00Z ",
                           " 2026-11-15T03:28:00Z",
                           "2026-11-15_03:28:00Z",
                           "2026-1-15T03:28:00Z",
                           "2026-+1-15T03:28:00Z",
                           "2026-00-15T03:28:00Z",
                           "2026-13-15T03:28:00Z",
                           "2026-11-00T03:28:00Z",
                           "2026-11-31T03:28:00Z",
                           "2026-99-99T03:28:00Z",
                           "2023-02-29T00:00:00Z",
                           "2100-02-29T00:00:00Z",
                           "2026/11/15T03:28:00Z"}) {
    EXPECT_EQ(again(text), "refused") << text;
  }
  EXPECT_EQ(parse_time(std::string_view("2026-11-15T03:28:00Z\0", 21)), std::nullopt);
}

TEST(Clock, AWrittenTimeIsReadBack) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> micros(0, 253'402'300'799'999'999);
  for (int i = 0; i < 10'000; ++i) {
    const Time time{std::chrono::microseconds(micros(random))};
    const std::string text = format_time(time);
    ASSERT_EQ(text.size(), 27u);
    ASSERT_EQ(parse_time(text), time) << text;
  }
}

TEST(Clock, EveryCutAndEveryChangedCharacterIsRefusedOrAnotherTime) {
  const std::string text = "2026-11-15T03:28:07.123456+02:30";
  const auto time = parse_time(text);
  ASSERT_TRUE(time);
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(parse_time(text.substr(0, length)), std::nullopt) << length;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[at] = static_cast<char>(c);
      const bool blank = at == 10 && (c == 't' || c == ' ');
      if (changed == text || blank) continue;
      EXPECT_NE(parse_time(changed), time) << changed;
    }
  }
}

TEST(Clock, TheSystemClockMovesForward) {
  const SystemClock clock;
  const auto before = clock.steady();
  EXPECT_GE(clock.steady(), before);
  EXPECT_GT(clock.now(), *parse_time("2024-01-01T00:00:00Z"));
}

TEST(Clock, AManualClockMovesOnlyWhenItIsAdvanced) {
  ManualClock clock(Time(5s));
  const auto start = clock.steady();
  EXPECT_EQ(clock.now(), Time(5s));
  clock.advance(3s);
  EXPECT_EQ(clock.now(), Time(8s));
  EXPECT_EQ(clock.steady() - start, 3s);
  clock.jump(-4s);
  EXPECT_EQ(clock.now(), Time(4s));
  EXPECT_EQ(clock.steady() - start, 3s);
}

}  // namespace
}  // namespace restante
