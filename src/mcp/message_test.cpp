#include "mcp/message.h"

#include <gmock/gmock.h>

#include "mcp/line_splitter.h"

namespace restante::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Incoming::Kind;

Incoming only(std::string_view text) {
  auto line = parse_line(text);
  EXPECT_EQ(line.messages.size(), 1u);
  EXPECT_FALSE(line.batch);
  return line.messages.front();
}

TEST(ParseLine, ARequestHasAnIdAndANotificationHasNone) {
  const auto request = only(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}})");
  EXPECT_EQ(request.kind, Kind::request);
  EXPECT_EQ(request.id.dump(), "\"a\"");
  EXPECT_EQ(request.method, "tools/call");
  EXPECT_TRUE(request.params.find("name"));
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":0,"method":"ping","params":null})").kind, Kind::request);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").kind, Kind::notification);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind, Kind::response);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":1,"error":{}})").kind, Kind::response);
}

TEST(ParseLine, AnInvalidLineHasItsCodeAndTheIdWhereItIsKnown) {
  const auto code = [](std::string_view text) { return only(text).code; };
  for (const char* text : {"{", "x", R"({"a":1,"a":2})", R"({"a":"\u0000"})"})
    EXPECT_EQ(code(text), kParseError) << text;
  for (const char* text : {"7", "[]", "null", "{}", R"({"jsonrpc":"2.0"})", R"({"jsonrpc":2,"id":1,"method":"x"})",
                           R"({"jsonrpc":"2.0","id":null,"method":"x"})", R"({"jsonrpc":"2.0","id":1,"method":1})"})
    EXPECT_EQ(code(text), kInvalidRequest) << text;
  const auto known = only(R"({"jsonrpc":"2.0","id":7,"method":"x","params":[]})");
  EXPECT_EQ(known.code, kInvalidParams);
  EXPECT_EQ(known.id.dump(), "7");
  EXPECT_THAT(only(std::string(100, '[') + std::string(100, ']')).fault, HasSubstr("too deep"));
}

TEST(ParseLine, TheIdOfALineThatCannotBeParsedIsFound) {
  const auto id = [](const std::string& text) {
    const auto message = only(text);
    EXPECT_EQ(message.kind, Kind::invalid) << text;
    EXPECT_EQ(message.code, kParseError) << text;
    return message.id.dump();
  };
  const auto call = [](const std::string& id, const std::string& argument) {
    return R"({"method":"tools/call","params":{"id":9,"arguments":)" + argument + R"(},"jsonrpc":"2.0", "id" : )" + id +
           "}";
  };
  EXPECT_EQ(id(call("7", R"({"a":"\u0000"})")), "7");
  EXPECT_EQ(id(call(R"("a\"b")", R"({"a":"\u0000"})")), R"("a\"b")");
  EXPECT_EQ(id(call("7", std::string(200, '[') + std::string(200, ']'))), "7") << "too deep";
  EXPECT_EQ(id(call("7", R"({"a":1,"a":2})")), "7") << "a key twice";
  EXPECT_EQ(id(call("7", R"("\ud800")")), "7") << "half a character";
  EXPECT_EQ(id(call("7", "\"\xff\"")), "7") << "not UTF-8";
  EXPECT_EQ(id(R"({"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"cut)"), "7");
  std::string many = "[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  EXPECT_EQ(id(call("7", many + "]")), "7") << "too many values";
}

TEST(ParseLine, WhatIsNotClearlyTheIdOfARequestIsNotTakenForOne) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"x"})", R"({"id":7,"result":"\u0000"})", R"({"method":"\u0000"})",
        R"({"id":{"id":7},"method":"\u0000"})", R"({"id":true,"method":"\u0000"})", R"({"id":"\u0000","method":"x"})",
        R"({"x":"\"id\":7","method":"\u0000"})", R"({"params":{"id":7,"method":"\u0000"}})",
        R"({"id":7,"method":"x"}{"id":8,"method":"y"})", R"("id":7,"method":"x")"}) {
    const auto message = only(text);
    EXPECT_EQ(message.code, kParseError) << text;
    EXPECT_TRUE(message.id.is_null()) << text << message.id.dump();
  }
}

TEST(ParseLine, EveryRequestOfABatchThatCannotBeParsedIsAnswered) {
  const auto line = parse_line(
      R"([{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\u0000"}},{"method":"n"},{"id":"b","method":"y"}])");
  EXPECT_TRUE(line.batch);
  std::vector<std::string> ids;
  for (const auto& message : line.messages) ids.push_back(message.id.dump());
  EXPECT_THAT(ids, ElementsAre("1", R"("b")"));
}

TEST(ParseLine, ABatchKeepsItsOrderAndEachMessageIsCheckedAlone) {
  const auto line = parse_line(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},7,{"jsonrpc":"2.0","method":"n"}])");
  EXPECT_TRUE(line.batch);
  std::vector<Kind> kinds;
  for (const auto& message : line.messages) kinds.push_back(message.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::request, Kind::invalid, Kind::notification));
}

TEST(Render, EachIsOneLineOfJson) {
  EXPECT_EQ(response(Json::number(1), R"({"a":1})"), R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})");
  EXPECT_EQ(error_response({}, -32700, "line\none"),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"line\none"}})");
  EXPECT_EQ(notification("n", "{}"), R"({"jsonrpc":"2.0","method":"n","params":{}})");
}

std::vector<std::string> cut(std::initializer_list<std::string_view> pieces, std::size_t longest = 100) {
  std::vector<std::string> seen;
  LineSplitter lines(longest);
  for (const auto piece : pieces) {
    lines.add(
        piece, [&](std::string_view line) { seen.emplace_back(line); },
        [&](const std::vector<Json>& ids) {
          seen.emplace_back("too long");
          for (const Json& id : ids) seen.back() += " " + id.dump();
        });
  }
  return seen;
}

TEST(LineSplitterTest, PiecesBecomeCompleteLinesAndEmptyLinesAreIgnored) {
  EXPECT_THAT(cut({"a", "b\nc\r\n", "\n \n", "d"}), ElementsAre("ab", "c"));
}

TEST(LineSplitterTest, ALineThatIsTooLongIsReportedOnceAndTheNextOneIsRead) {
  EXPECT_THAT(cut({"12345", "67890", "1\nab\n"}, 4), ElementsAre("too long", "ab"));
  EXPECT_THAT(cut({"1234\n12345\n"}, 4), ElementsAre("1234", "too long"));
  EXPECT_THAT(cut({R"({"method":"x","par)", R"(ams":{"a":"{\"id\":1)", R"("},"i)", R"(d":12)", "3}\nab\n"}, 20),
              ElementsAre("too long 123", "ab"));
}

TEST(Negotiate, AKnownVersionIsKeptAndAnyOtherIsAnsweredWithTheNewest) {
  for (const char* known : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"})
    EXPECT_EQ(negotiate(known).name, known);
  for (const char* other : {"", "2024-10-07", "2026-07-28", "x"}) EXPECT_EQ(negotiate(other).name, "2025-11-25");
  EXPECT_TRUE(negotiate("2025-03-26").batches);
  EXPECT_FALSE(negotiate("2025-06-18").batches);
}

}  // namespace
}  // namespace restante::mcp
