// Promises: seconds are accepted exactly when they are an optional minus, digits and at most one dot; the result has
// the sign of the text, is zero only for zero, differs by less than a millisecond from what strtold reads, and is
// bounded. Written again with three decimals it reads back the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fuzz/oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto read = restante::parse_seconds(input);
  const std::string_view number = input.substr(input.starts_with('-') ? 1 : 0);
  const auto digits = std::ranges::count_if(number, restante::is_digit);
  const auto dots = std::ranges::count(number, '.');
  const bool sound = digits > 0 && dots <= 1 && static_cast<std::size_t>(digits + dots) == number.size();
  ORACLE(read.has_value() == sound);
  if (!read) return 0;

  constexpr std::int64_t kMost = 10'000'000'000;
  const std::int64_t milliseconds = std::abs(read->count());
  ORACLE(milliseconds <= kMost);
  const bool zero = number.find_first_not_of("0.") == std::string_view::npos;
  ORACLE((milliseconds == 0) == zero && (zero || (read->count() < 0) == input.starts_with('-')));
  const long double exact = std::strtold(std::string(number).c_str(), nullptr) * 1000;
  if (milliseconds < kMost) ORACLE(milliseconds > exact - 0.001L && milliseconds < exact + 1.001L);
  if (milliseconds == kMost) ORACLE(exact > kMost - 1.001L);

  char again[64];
  std::snprintf(again, sizeof again, "%s%lld.%03lld", read->count() < 0 ? "-" : "",
                static_cast<long long>(milliseconds / 1000), static_cast<long long>(milliseconds % 1000));
  ORACLE(restante::parse_seconds(again) == read);
  return 0;
}
