#include "base/json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>
#include <string>

namespace restante {
namespace {

std::string_view name_of(JsonFault fault) {
  switch (fault) {
    case JsonFault::malformed:
      return "malformed";
    case JsonFault::too_deep:
      return "too_deep";
    case JsonFault::too_many_nodes:
      return "too_many_nodes";
    case JsonFault::duplicate_key:
      return "duplicate_key";
    case JsonFault::nul_not_allowed:
      return "nul_not_allowed";
  }
  return "?";
}

// The document in compact form, or the name of its fault.
std::string read(std::string_view text, JsonLimits limits = {}) {
  const auto json = parse_json(text, limits);
  return json ? json->dump() : std::string(name_of(json.error()));
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Json, IsReadAndWrittenCompactlyInItsOrder) {
  EXPECT_EQ(read(" { \"b\" : [ 1 , true , false , null , \"x\" ] ,\r\n\t\"a\" : { } } "),
            R"({"b":[1,true,false,null,"x"],"a":{}})");
  for (const char* scalar : {"null", "true", "false", "0", "\"\"", "[]", "{}"}) EXPECT_EQ(read(scalar), scalar);
}

TEST(Json, NumbersKeepTheirText) {
  for (const char* number : {"0",
                             "-0",
                             "0.5",
                             "-0.0",
                             "1e400",
                             "-1E+400",
                             "1e-400",
                             "12345678901234567890",
                             "-12345678901234567890",
                             "18446744073709551616",
                             "1.0",
                             "1.10",
                             "100e-2",
                             "3.141592653589793238462643383279502884197169399375",
                             "123456789012345678901234567890123456789012345678901234567890",
                             "9007199254740993",
                             "1E5",
                             "0e0",
                             "1e0005",
                             "1e2147483647"}) {
    EXPECT_EQ(read(number), number);
    EXPECT_EQ(read("[" + std::string(number) + ",2]"), "[" + std::string(number) + ",2]");
    EXPECT_EQ(read("{\"n\":" + std::string(number) + "}"), "{\"n\":" + std::string(number) + "}");
  }
  const std::string digits(100'000, '7');
  EXPECT_EQ(read(digits), digits);
  EXPECT_EQ(read("0." + digits), "0." + digits);
}

TEST(Json, AnythingThatIsNotANumberIsRefused) {
  for (const char* text : {"NaN", "Infinity", "-Infinity", "nan", "+1", "01", "-01", "1.", ".5", "-", "-.5", "1e",
                           "1e+", "0x10", "1_000", "1,5", "--1", "1 2", "\xD9\xA1"}) {
    EXPECT_EQ(read(text), "malformed") << text;
    EXPECT_EQ(read("[" + std::string(text) + "]").starts_with("[") && std::string_view(text) != "1,5", false) << text;
  }
}

TEST(Json, AnExponentBeyond32BitsIsRefused) {
  for (const char* text : {"1e2147483648", "1e-99999999999999999999", "0e99999999999999999999"})
    EXPECT_EQ(read(text), "malformed") << text;
}

TEST(Json, AnIntegerIsAWholeNumberThatFits) {
  const auto integer = [](std::string_view text) { return parse_json(text)->integer(); };
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("-0"), 0);
  for (const char* text : {"9223372036854775808", "12345678901234567890", "1.0", "1e3", "\"1\"", "true", "null", "[1]"})
    EXPECT_EQ(integer(text), std::nullopt) << text;
}

TEST(Json, ARealIsANumberThatADoubleCanHold) {
  const auto real = [](std::string_view text) { return parse_json(text)->real(); };
  EXPECT_EQ(real("0.5"), 0.5);
  EXPECT_EQ(real("-1e3"), -1000.0);
  EXPECT_EQ(real("12345678901234567890"), 12345678901234567890.0);
  EXPECT_EQ(real("1e400"), std::nullopt);
  EXPECT_EQ(real("\"0.5\""), std::nullopt);
}

TEST(Json, DuplicateKeysAreRefusedAtAnyDepth) {
  EXPECT_EQ(read(R"({"status":"a","status":"b"})"), "duplicate_key");
  EXPECT_EQ(read(R"({"a":1,"b":2,"a":1})"), "duplicate_key");
  EXPECT_EQ(read(R"([{"x":{"a":1,"\u0061":2}}])"), "duplicate_key");
  EXPECT_EQ(read(R"({"":1,"":2})"), "duplicate_key");
  EXPECT_EQ(read(R"({"a":{"a":1},"A":[{"a":1},{"a":1}]})"), R"({"a":{"a":1},"A":[{"a":1},{"a":1}]})");
}

TEST(Json, NulIsRefusedInValuesAndKeys) {
  EXPECT_EQ(read(R"("a\u0000b")"), "nul_not_allowed");
  EXPECT_EQ(read(R"({"a":["\u0000"]})"), "nul_not_allowed");
  EXPECT_EQ(read(R"({"\u0000":1})"), "nul_not_allowed");
  EXPECT_EQ(read(R"({"k\u0000":1})"), "nul_not_allowed");
  EXPECT_EQ(read(std::string_view("\"a\0b\"", 5)), "malformed");
  EXPECT_EQ(read(std::string_view("1\0", 2)), "malformed");
  EXPECT_EQ(read(R"("\\u0000")"), R"("\\u0000")");
}

TEST(Json, TextThatIsNotUnicodeIsRefused) {
  for (const char* text : {"\"\xFF\"",
                           "\"caf\xE9\"",
                           "\"\xC0\xAF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xE6\xBC\"",
                           "{\"\xFF\":1}",
                           R"("\ud800")",
                           R"("\ud800x")",
                           R"("\udc00")",
                           R"("\ud800\ud800")",
                           R"("\ud800\u0041")",
                           R"("\udbff\ue000")",
                           R"({"\ud800":1})",
                           R"("\uD83D")",
                           R"("\u00g0")",
                           R"("\u12")",
                           R"("\x41")",
                           R"("\')",
                           "\"\n\"",
                           "\"\t\"",
                           "\"\x1F\"",
                           "\"\x1b[31m\""}) {
    EXPECT_EQ(read(text), "malformed") << text;
  }
  EXPECT_EQ(read(R"("\ud83d\ude00\u00e9\/\b\f")"), "\"\xF0\x9F\x98\x80\xC3\xA9/\\u0008\\u000c\"");
}

TEST(Json, AnythingThatIsNotOneDocumentIsRefused) {
  for (const char* text : {"",          " ",           "\n",         "\xEF\xBB\xBF{}",
                           "{}x",       "{} {}",       "[1]]",       "1 1",
                           "// c\n{}",  "/* c */{}",   "{}// c",     "{\"a\":1/**/}",
                           "{'a':1}",   "'a'",         "{a:1}",      "{\"a\" 1}",
                           "{\"a\":}",  "{\"a\":1,}",  "[1,]",       "[,1]",
                           "[1 2]",     "[",           "[1",         "{",
                           "{\"a\"",    "{\"a\":1",    "\"a",        "\"\\",
                           "tru",       "TRUE",        "True",       "nul",
                           "undefined", "]",           "}",          "[}",
                           "{]",        "{\"a\":1}\v", "\xC2\xA0{}", "{1:1}",
                           "{null:1}"}) {
    EXPECT_EQ(read(text), "malformed") << text;
  }
}

TEST(Json, EveryCutOfADocumentIsRefused) {
  const std::string text = R"({"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null],"b":{"c":""}})";
  ASSERT_NE(read(text), "malformed");
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_EQ(read(text.substr(0, size)), "malformed") << size;
}

TEST(Json, DepthIs64AndNoMore) {
  const std::string deepest = repeat("[", 64) + repeat("]", 64);
  EXPECT_EQ(read(deepest), deepest);
  EXPECT_EQ(read(repeat("[", 65) + repeat("]", 65)), "too_deep");
  const std::string objects = repeat("{\"a\":", 64) + "1" + repeat("}", 64);
  EXPECT_EQ(read(objects), objects);
  EXPECT_EQ(read(repeat("{\"a\":", 64) + "{}" + repeat("}", 64)), "too_deep");
  EXPECT_EQ(read("[" + deepest.substr(1, 126) + ",[]]"), "[" + deepest.substr(1, 126) + ",[]]");
  EXPECT_EQ(read("[]", {.depth = 0}), "too_deep");
  EXPECT_EQ(read("1", {.depth = 0}), "1");
}

TEST(Json, AMillionBracketsDoNotOverflowTheStack) {
  EXPECT_EQ(read(std::string(1'000'000, '[')), "too_deep");
  EXPECT_EQ(read(repeat("{\"a\":", 200'000)), "too_deep");
  EXPECT_EQ(read(std::string(1'000'000, '[') + std::string(1'000'000, ']')), "too_deep");
}

TEST(Json, TenThousandNodesAreReadAndOneMoreIsNot) {
  EXPECT_NE(read("[" + repeat("0,", 9'998) + "0]"), "too_many_nodes");
  EXPECT_EQ(read("[" + repeat("0,", 9'999) + "0]"), "too_many_nodes");
  EXPECT_NE(read("[" + repeat("[],", 9'998) + "{}]"), "too_many_nodes");
  EXPECT_EQ(read("[" + repeat("[],", 9'999) + "{}]"), "too_many_nodes");
  EXPECT_EQ(read("[[1,2],{\"a\":3}]", {.nodes = 6}), "[[1,2],{\"a\":3}]");
  EXPECT_EQ(read("[[1,2],{\"a\":3}]", {.nodes = 5}), "too_many_nodes");
}

TEST(Json, ManyKeysAndLongKeysAreBoundedByTheNodesAlone) {
  std::string members;
  for (int i = 0; i < 9'999; ++i) members += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(read("{" + members + "}"), "{" + members + "}");
  EXPECT_EQ(read("{" + members + ",\"x\":0}"), "too_many_nodes");
  const std::string key(1 << 20, 'k');
  EXPECT_EQ(read("{\"" + key + "\":1}"), "{\"" + key + "\":1}");
}

TEST(Json, MembersAreFoundSetAndErased) {
  Json json;
  EXPECT_EQ(json.find("a"), nullptr);
  json.set("a", Json::number(1));
  json.set("b", Json::string("x\"y"));
  json.set("a", Json::boolean(true));
  json.set("c", Json::array({Json(), Json::number_text("1e400")}));
  EXPECT_EQ(json.dump(), R"({"a":true,"b":"x\"y","c":[null,1e400]})");
  ASSERT_NE(json.find("b"), nullptr);
  EXPECT_EQ(*json.find("b")->if_string(), "x\"y");
  EXPECT_EQ(json.find("B"), nullptr);
  json.erase("a");
  json.erase("absent");
  EXPECT_EQ(json.dump(), R"({"b":"x\"y","c":[null,1e400]})");
  EXPECT_EQ(json.find("c")->find("b"), nullptr);
}

TEST(Json, AValueIsOfItsOwnTypeOnly) {
  const Json json = *parse_json(R"([null,true,1,"s",[],{}])");
  const auto& items = *json.if_array();
  ASSERT_EQ(items.size(), 6u);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].is_null(), i == 0);
    EXPECT_EQ(items[i].if_boolean() != nullptr, i == 1);
    EXPECT_EQ(items[i].if_number() != nullptr, i == 2);
    EXPECT_EQ(items[i].if_string() != nullptr, i == 3);
    EXPECT_EQ(items[i].if_array() != nullptr, i == 4);
    EXPECT_EQ(items[i].if_object() != nullptr, i == 5);
  }
}

// Any document of any shape.
std::string random_document(std::mt19937& random, int depth) {
  static constexpr const char* kScalars[] = {"null",
                                             "true",
                                             "-0",
                                             "0.5",
                                             "1e400",
                                             "12345678901234567890",
                                             R"("")",
                                             R"("\u00e9\ud83d\ude00")",
                                             R"("a\\\"\n\u007f")",
                                             "\"\xE2\x80\xA8\""};
  const auto below = [&](unsigned n) { return random() % n; };
  if (depth == 0 || below(3) == 0) return kScalars[below(std::size(kScalars))];
  const bool object = below(2) == 0;
  std::string out(1, object ? '{' : '[');
  for (unsigned i = 0, n = below(5); i < n; ++i) {
    if (i > 0) out += " ,";
    if (object) out += "\"k\\u00e9" + std::to_string(i) + "\" : ";
    out += random_document(random, depth - 1);
  }
  return out + (object ? '}' : ']');
}

TEST(Json, AMissingMemberOrOneOfAnotherTypeReadsAsEmpty) {
  const auto document = parse_json(R"({"text":"a","whole":7,"flag":true,"items":[1,2],"real":1.5})").value();
  EXPECT_EQ(document.text("text"), "a");
  EXPECT_EQ(document.whole("whole"), 7);
  EXPECT_TRUE(document.flag("flag"));
  EXPECT_EQ(document.items("items").size(), 2U);
  for (const auto* other : {"absent", "real"}) {
    EXPECT_EQ(document.text(other), "");
    EXPECT_EQ(document.whole(other), 0);
    EXPECT_FALSE(document.flag(other));
    EXPECT_TRUE(document.items(other).empty());
  }
  EXPECT_EQ(Json::string("no object").text("text"), "");
}

TEST(Json, ADumpReadsBackAsTheSameDocument) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_document(random, 6);
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << text;
    const std::string dump = json->dump();
    EXPECT_EQ(read(dump), dump);
    boost::json::error_code failed;
    const auto theirs = boost::json::parse(text, failed);
    ASSERT_FALSE(failed) << text;
    ASSERT_EQ(boost::json::serialize(theirs), boost::json::serialize(boost::json::parse(dump))) << text;
  }
}

TEST(Json, TakingTheDocumentOfAFaultThrows) { EXPECT_THROW(parse_json("[").value(), std::logic_error); }

}  // namespace
}  // namespace restante
