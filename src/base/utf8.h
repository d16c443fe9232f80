// UTF-8, one code point at a time, and a form that is safe to print on a terminal: text written by others can neither
// move the cursor nor change the writing direction. Total functions: invalid UTF-8 is not an error. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace restante {

struct CodePoint {
  char32_t value;
  std::size_t bytes;
};

// Stands for a byte that does not begin a whole character.
inline constexpr char32_t kNoCharacter = 0xfffd;

// The first code point of a text that is not empty; kNoCharacter and one byte when it is not UTF-8.
CodePoint first_code_point(std::string_view text);

// Replaces control characters, those of C1, those that change the writing direction, and every byte that is not UTF-8
// by `instead`. Characters in `but` stay.
std::string presentable(std::string_view text, char instead, std::string_view but = {});

}  // namespace restante
