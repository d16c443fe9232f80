#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"

namespace restante {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWriter, ItSetsTheCommas) {
  JsonWriter out;
  out.begin_object();
  out.member("a", "x");
  out.key("b");
  out.begin_array();
  out.integer(1);
  out.begin_object();
  out.end_object();
  out.begin_array();
  out.end_array();
  out.null();
  out.end_array();
  out.key("c");
  out.boolean(false);
  out.key("d");
  out.raw(R"({"stored":true})");
  out.member("e", std::int64_t{-5});
  out.end_object();
  EXPECT_EQ(out.text(), R"({"a":"x","b":[1,{},[],null],"c":false,"d":{"stored":true},"e":-5})");
  EXPECT_EQ(out.take(), R"({"a":"x","b":[1,{},[],null],"c":false,"d":{"stored":true},"e":-5})");
}

TEST(JsonWriter, ObjectsAndArraysInOneCall) {
  const std::vector<int> numbers{1, 2};
  const auto text = json_object([&](JsonWriter& out) {
    out.array("numbers", numbers, [&](int number) { out.integer(number); });
    out.objects("objects", numbers, [&](int number) { out.member("n", number); });
    out.object("inner", [&] { out.raw_member("raw", "[0]"); });
    out.member("yes", true);
    out.member("half", 0.5);
  });
  EXPECT_EQ(text, R"({"numbers":[1,2],"objects":[{"n":1},{"n":2}],"inner":{"raw":[0]},"yes":true,"half":0.5})");
}

TEST(JsonWriter, AnAbsentValueIsNullOrNoMember) {
  const std::optional<std::int64_t> none;
  const std::optional<std::int64_t> seven = 7;
  const auto text = json_object([&](JsonWriter& out) {
    out.member_or_null("a", none);
    out.member_or_null("b", seven);
    out.member_or_null("c", std::string());
    out.member_or_null("d", "text");
    out.member_or_null("e", std::optional(Time{}));
    out.member_if("f", none);
    out.member_if("g", seven);
    out.member_if("h", std::string());
    out.flag("i", false);
    out.flag("j", true);
  });
  EXPECT_EQ(text, R"({"a":null,"b":7,"c":null,"d":"text","e":"1970-01-01T00:00:00.000000Z","g":7,"j":true})");
}

TEST(JsonWriter, EveryControlCharacterIsEscaped) {
  EXPECT_EQ(in_quotes("a\"b\\c/d\n\r\t"), R"("a\"b\\c/d\n\r\t")");
  EXPECT_EQ(in_quotes(std::string_view("\0\x01\b\f\x1b\x1f\x7f", 7)),
            R"("\u0000\u0001\u0008\u000c\u001b\u001f\u007f")");
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    for (const char out : in_quotes(text)) {
      const auto byte = static_cast<unsigned char>(out);
      EXPECT_TRUE(byte >= 0x20 && byte != 0x7f) << c;
    }
  }
}

TEST(JsonWriter, ValidUtf8IsWrittenAsItIs) {
  EXPECT_EQ(in_quotes("\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\xE2\x80\xA8"),
            "\"\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80\xE2\x80\xA8\"");
  EXPECT_EQ(in_quotes(""), "\"\"");
}

TEST(JsonWriter, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(in_quotes("\xFF"), "\"" + bad + "\"");
  EXPECT_EQ(in_quotes("caf\xE9!"), "\"caf" + bad + "!\"");
  EXPECT_EQ(in_quotes("\xC0\xAF"), "\"" + bad + bad + "\"");
  EXPECT_EQ(in_quotes("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"");
  EXPECT_EQ(in_quotes("\xC3\xA9\xC3"), "\"\xC3\xA9" + bad + "\"");
  EXPECT_EQ(in_quotes("\xE6\xBC"), "\"" + bad + bad + "\"");
  EXPECT_EQ(in_quotes("\xF0\x9F\x98\x80\x80\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80" + bad + "\xF0\x9F\x98\x80\"");
  EXPECT_EQ(in_quotes("\xFF\"\n"), "\"" + bad + "\\\"\\n\"");
}

TEST(JsonWriter, AnyPairOfBytesGivesAStringAnotherParserReads) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      boost::json::error_code failed;
      const auto value = boost::json::parse(in_quotes(text), failed);
      ASSERT_FALSE(failed) << a << ' ' << b;
      ASSERT_EQ(std::string_view(value.as_string()) == text, is_valid_utf8(text)) << a << ' ' << b;
    }
  }
}

TEST(JsonWriter, KeysAreEscapedToo) {
  JsonWriter out;
  out.begin_object();
  out.member("a\"\n\xFF", "");
  out.end_object();
  EXPECT_EQ(out.text(), "{\"a\\\"\\n\xEF\xBF\xBD\":\"\"}");
}

TEST(JsonWriter, NumbersAreJsonAndComeBack) {
  JsonWriter out;
  out.begin_array();
  out.integer(std::numeric_limits<std::int64_t>::min());
  out.integer(std::numeric_limits<std::int64_t>::max());
  out.real(0.5);
  out.real(1e300);
  out.real(-0.0);
  out.real(std::nan(""));
  out.real(-std::numeric_limits<double>::infinity());
  out.real(5);
  out.end_array();
  boost::json::error_code failed;
  const auto value = boost::json::parse(out.text(), failed);
  ASSERT_FALSE(failed) << out.text();
  EXPECT_EQ(value.at(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value.at(1), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(value.at(2), 0.5);
  EXPECT_EQ(value.at(3), 1e300);
  EXPECT_TRUE(value.at(5).is_null() && value.at(6).is_null());
  EXPECT_EQ(value.at(7).to_number<double>(), 5.0);
}

}  // namespace
}  // namespace restante
