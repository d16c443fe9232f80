// UTF-8, one code point at a time, and as it may be shown to a person on a terminal: text that others wrote can neither
// move the cursor nor turn the writing direction. Total functions: what is no UTF-8 is no error. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace restante {

struct CodePoint {
  char32_t value;
  std::size_t bytes;
};

// What a byte stands for that begins no whole character.
inline constexpr char32_t kNoCharacter = 0xfffd;

// The first of a text that is not empty; kNoCharacter and one byte when that is no UTF-8.
CodePoint first_code_point(std::string_view text);

// Control characters, those of C1 and those that turn the writing direction become `instead`, as does every byte that
// is no UTF-8; those in `but` stay.
std::string presentable(std::string_view text, char instead, std::string_view but = {});

}  // namespace restante
