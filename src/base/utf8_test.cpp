#include "base/utf8.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

TEST(Utf8, EveryLengthIsReadAndAnInvalidSequenceTakesOneByte) {
  const std::pair<std::string_view, CodePoint> texts[] = {
      {"a\xff", {'a', 1}},          {"\u009b", {0x9b, 2}},           {"\u20ac!", {0x20ac, 3}},
      {"\U0001f600", {0x1f600, 4}}, {"\xe2\x82", {kNoCharacter, 1}}, {"\xc0\xaf", {kNoCharacter, 1}},
      {"\x9b", {kNoCharacter, 1}},  {"\ufffd", {kNoCharacter, 3}}};
  for (const auto& [text, expected] : texts) {
    const auto [value, bytes] = first_code_point(text);
    EXPECT_EQ(value, expected.value) << text;
    EXPECT_EQ(bytes, expected.bytes) << text;
  }
}

TEST(Utf8, CharactersThatATerminalActsOnAreReplaced) {
  EXPECT_EQ(presentable("a\033[31m\r\x7f", '?'), "a?[31m??");
  EXPECT_EQ(presentable("\u009b31m \x9b", '?'), "?31m ?") << "C1, as a character and as a byte";
  EXPECT_EQ(presentable("\u202etxt.exe\u2066", ' '), " txt.exe ");
  EXPECT_EQ(presentable("a\n\tb\r", '?', "\n\t"), "a\n\tb?");
  EXPECT_EQ(presentable("Gr\u00fc\u00dfe \u4f60\u597d \U0001f600 \u05d0", '?'),
            "Gr\u00fc\u00dfe \u4f60\u597d \U0001f600 \u05d0");
  EXPECT_EQ(presentable(std::string_view("a\0b", 3), '?'), "a?b");
}

}  // namespace
}  // namespace restante
