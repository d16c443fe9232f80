#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/test_rows.h"

namespace restante {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Text, LetterCaseIsAsciiOnly) {
  EXPECT_TRUE(equal_ignoring_case("Content-LENGTH", "content-length"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  for (const auto& [one, other] : {std::pair("host", "hosts"), {"@", "`"}, {"[", "{"}, {"\xC3\x89", "\xC3\xA9"}}) {
    EXPECT_FALSE(equal_ignoring_case(one, other)) << one << " and " << other;
  }
  EXPECT_EQ(lower_case("AZaz@[`{09\xC3\x89"), "azaz@[`{09\xC3\x89");
}

TEST(Text, TrimTakesSpacesAndTabsAndNothingElse) {
  expect_rows(trim, {{" \t a b\t ", "a b"}, {" \t ", ""}, {"", ""}, {"\ra\n", "\ra\n"}, {"\va\f", "\va\f"}});
}

TEST(Text, SplitKeepsEmptyParts) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b", ','), Parts({"a", "b"}));
  EXPECT_EQ(split(",a,,b,", ','), Parts({"", "a", "", "b", ""}));
  EXPECT_EQ(split("", ','), Parts({""}));
  EXPECT_EQ(split("ab", ','), Parts({"ab"}));
}

TEST(Text, NumbersAreAllOfTheTextAndFit) {
  EXPECT_EQ(parse_unsigned("0"), 0u);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(parse_signed("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_signed("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"", " ", "+1", " 1", "1 ", "1x", "0x1", "1e3", "1.0", "-", "--1", "18446744073709551616", "1,2", "\xD9\xA1"}) {
    EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
    EXPECT_EQ(parse_signed(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
  EXPECT_EQ(parse_unsigned("-0"), std::nullopt);
  EXPECT_EQ(parse_signed("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_signed("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(parse_unsigned(std::string_view("1\0", 2)), std::nullopt);
}

TEST(Text, ANumberThatDoesNotFitBecomesTheNearestThatDoes) {
  expect_rows<std::int64_t>(parse_clamped, {{"12", 12},
                                            {"-12", -12},
                                            {"9223372036854775808", INT64_MAX},
                                            {"99999999999999999999", INT64_MAX},
                                            {"-9223372036854775809", INT64_MIN}});
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "99999999999999999999x", "-99999999999999999999.5", "0x10", "--1"}) {
    EXPECT_EQ(parse_clamped(text), std::nullopt) << text;
  }
}

TEST(Text, SecondsAreADecimalNumberInMilliseconds) {
  const auto milliseconds = [](std::string_view text) { return parse_seconds(text).value().count(); };
  expect_rows<std::int64_t>(milliseconds, {{"0", 0},
                                           {"50", 50'000},
                                           {"0.5", 500},
                                           {"30.0", 30'000},
                                           {".25", 250},
                                           {"7.", 7'000},
                                           {"007", 7'000},
                                           {"1.2345", 1'235},
                                           {"1.999999", 2'000},
                                           {"0.0001", 1},
                                           {"0.0000000000000000000000000000", 0},
                                           {"-3", -3'000},
                                           {"-0.5", -500},
                                           {"-0", 0},
                                           {"1000000000", 10'000'000'000},
                                           {"99999999999999999999.9", 10'000'000'000},
                                           {"-99999999999999999999", -10'000'000'000}});
  for (const char* text : {"",    ".",   "-",     "-.",   "+1",  " 1",  "1 ",  "1e9",  "1E3", "50s",
                           "0x5", "1,5", "1.5.2", "1.-5", "--1", "inf", "nan", "junk", "1_0", "\xD9\xA5"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
  }
}

TEST(Text, HexIsLowerCaseAndTwoDigitsAByte) {
  EXPECT_EQ(to_hex(bytes(std::string_view("\x00\x0f\xf0\xff\x7a", 5))), "000ff0ff7a");
  EXPECT_EQ(to_hex({}), "");
  for (int c = 0; c < 256; ++c) {
    const auto at = std::string_view("0123456789abcdef").find(to_lower(static_cast<char>(c)));
    EXPECT_EQ(hex_digit(static_cast<char>(c)), at == std::string_view::npos ? -1 : static_cast<int>(at)) << c;
  }
}

TEST(Text, Base64GivesTheVectorsOfRfc4648) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"},
                                                                   {"\xfb\xff\xbf", "+/+/"},
                                                                   {"\xff", "/w=="}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(to_base64(bytes(plain)), coded);
    std::string url(coded);
    while (url.ends_with('=')) url.pop_back();
    for (char& c : url) c = c == '+' ? '-' : c == '/' ? '_' : c;
    EXPECT_EQ(to_base64url(bytes(plain)), url);
  }
  EXPECT_EQ(to_base64url(bytes(std::string(32, '\xff'))).size(), 43u);
  EXPECT_EQ(to_base64(bytes(std::string(1'000'001, '\xff'))).size(), 1'333'336u);
}

TEST(Text, PercentEscapesAreDecoded) {
  expect_rows(percent_decode, {{"", ""},
                               {"a%2Fb%2fc", "a/b/c"},
                               {"%C3%A9%ff", "\xC3\xA9\xFF"},
                               {"a+b", "a+b"},
                               {"%2541", "%41"},
                               {"%0d%0A%01", "\r\n\x01"}});
}

TEST(Text, ABrokenEscapeOrAnEscapedNulDecodesToNothing) {
  for (const char* text : {"%", "a%", "%4", "a%4", "%%41", "%G1", "%1G", "% 1", "%-1", "%+1", "%0x41", "%00", "a%00b",
                           "%4\xC3", "%u0041"}) {
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
  }
}

TEST(Text, PercentEncodingLeavesUnreservedCharactersAndComesBack) {
  EXPECT_EQ(percent_encode("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(percent_encode("a b/\xC3\xA9%+'\"\n"), "a%20b%2F%C3%A9%25%2B%27%22%0A");
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(
      percent_encode(all).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%"),
      std::string::npos);
}

TEST(Text, WellFormedUtf8IsValid) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("plain"), std::string_view("\0", 1), std::string_view("\x7F"),
        std::string_view("\xC2\x80"), std::string_view("\xDF\xBF"), std::string_view("\xE0\xA0\x80"),
        std::string_view("\xEC\xBF\xBF"), std::string_view("\xED\x9F\xBF"), std::string_view("\xEE\x80\x80"),
        std::string_view("\xEF\xBF\xBF"), std::string_view("\xF0\x90\x80\x80"), std::string_view("\xF3\xBF\xBF\xBF"),
        std::string_view("\xF4\x8F\xBF\xBF"), std::string_view("\xEF\xBB\xBF"),
        std::string_view("a\xC3\xA9\xE6\xBC\xA2z")}) {
    EXPECT_TRUE(is_valid_utf8(text)) << to_hex(bytes(text));
  }
}

TEST(Text, OverlongSurrogateTruncatedAndStrayBytesAreNotUtf8) {
  for (const std::string_view text : {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC0\xAF",
                                      "\xC1\xBF",
                                      "\xC2",
                                      "\xC2 ",
                                      "\xC2\xC2",
                                      "\xDF\xC0",
                                      "\xE0\x80\x80",
                                      "\xE0\x9F\xBF",
                                      "\xE0\xA0",
                                      "\xE1\x80",
                                      "\xE1\x80 ",
                                      "\xE1 \x80",
                                      "\xED\xA0\x80",
                                      "\xED\xAF\xBF",
                                      "\xED\xB0\x80",
                                      "\xED\xBF\xBF",
                                      "\xF0\x80\x80\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF0\x90\x80",
                                      "\xF1\x80\x80 ",
                                      "\xF4\x90\x80\x80",
                                      "\xF4\xBF\xBF\xBF",
                                      "\xF5\x80\x80\x80",
                                      "\xF8\x88\x80\x80\x80",
                                      "\xFE",
                                      "\xFF",
                                      "caf\xE9",
                                      "a\xC3\xA9\x80",
                                      "\xC3\xA9\xC3"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << to_hex(bytes(text));
  }
}

TEST(Text, CutUtf8NeverCutsACharacter) {
  const std::string text = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80z";
  std::size_t longest = 0;
  for (std::size_t size = 0; size <= text.size() + 2; ++size) {
    const auto cut = cut_utf8(text, size);
    EXPECT_LE(cut.size(), size);
    EXPECT_TRUE(is_valid_utf8(cut)) << size;
    EXPECT_TRUE(text.starts_with(cut));
    EXPECT_GE(cut.size(), longest);
    EXPECT_GT(cut.size() + 4, std::min(size, text.size()));
    longest = cut.size();
  }
  EXPECT_EQ(longest, text.size());
  EXPECT_EQ(cut_utf8(text, 3), "a\xC3\xA9");
  EXPECT_EQ(cut_utf8(text, 5), "a\xC3\xA9");
}

}  // namespace
}  // namespace restante
