#include "base/utf8.h"

#include "base/text.h"

namespace restante {
namespace {

std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

// Whether a terminal would act on it instead of showing it.
bool acts(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const auto bytes = length_by_lead(static_cast<unsigned char>(text.front()));
  if (bytes > text.size() || !is_valid_utf8(text.substr(0, bytes))) return {kNoCharacter, 1};
  char32_t value = bytes == 1 ? byte(0) : byte(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) value = value << 6 | (byte(i) & 0x3f);
  return {value, bytes};
}

std::string presentable(std::string_view text, char instead, std::string_view but) {
  std::string out;
  while (!text.empty()) {
    const auto [value, bytes] = first_code_point(text);
    const bool broken = value == kNoCharacter && bytes == 1;
    const bool kept = bytes == 1 && but.find(text.front()) != but.npos;
    if (!broken && (kept || !acts(value))) {
      out += text.substr(0, bytes);
    } else {
      out += instead;
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace restante
