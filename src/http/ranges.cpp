#include "http/ranges.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {

RangeChoice choose_range(std::string_view range, std::string_view if_range, std::string_view etag, std::uint64_t size) {
  const RangeChoice whole{RangeAnswer::whole, {0, size}};
  if (!equal_ignoring_case(range.substr(0, 6), "bytes=") || (!if_range.empty() && if_range != etag)) return whole;
  const std::string_view spec = trim(range.substr(6));
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos || spec.find(',') != std::string_view::npos) return whole;
  const std::string_view first_text = spec.substr(0, dash);
  const std::string_view last_text = spec.substr(dash + 1);
  const auto last = parse_unsigned(last_text);
  if (first_text.empty()) {
    if (!last) return whole;
    if (*last == 0 || size == 0) return {RangeAnswer::unsatisfiable, {}};
    const std::uint64_t length = std::min(*last, size);
    return {RangeAnswer::part, {size - length, length}};
  }
  const auto first = parse_unsigned(first_text);
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return whole;
  if (*first >= size) return {RangeAnswer::unsatisfiable, {}};
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {RangeAnswer::part, {*first, end - *first + 1}};
}

bool etag_matches(std::string_view list, std::string_view etag) {
  if (trim(list) == "*") return true;
  for (std::string_view item : split(list, ',')) {
    item = trim(item);
    if (item.substr(0, 2) == "W/") item.remove_prefix(2);
    if (item == etag) return true;
  }
  return false;
}

}  // namespace restante::http
