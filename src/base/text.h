// Small, total functions on text: none throws, none allocates more than its result. ASCII unless the name contains
// UTF-8.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace restante {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// -1 when it is not a hex digit.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string lower_case(std::string_view text);
// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// All of `text` as a decimal number; no sign for unsigned, no leading blanks, no overflow.
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<std::int64_t> parse_signed(std::string_view text);
// The same, but a number that does not fit becomes the nearest one that does.
std::optional<std::int64_t> parse_clamped(std::string_view text);
// Seconds as a decimal number, "-3" or "0.25"; no exponent and no unit. Rounded up to a millisecond, so that only zero
// is zero; a number beyond ten million seconds becomes ten million.
std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text);

std::string to_hex(std::span<const std::uint8_t> bytes);
// base64 of RFC 4648: the URL alphabet without padding, and the standard one with it.
std::string to_base64url(std::span<const std::uint8_t> bytes);
std::string to_base64(std::span<const std::uint8_t> bytes);

// Nothing when an escape is broken or encodes NUL.
std::optional<std::string> percent_decode(std::string_view text);
// Everything but RFC 3986 unreserved characters is escaped.
std::string percent_encode(std::string_view text);

bool is_valid_utf8(std::string_view text);
// The longest prefix of at most `bytes` bytes that does not cut a character.
std::string_view cut_utf8(std::string_view text, std::size_t bytes);

}  // namespace restante
