#include "http/ranges.h"

#include <algorithm>

#include "base/text.h"

namespace restante::http {
namespace {

// weak: a tag with W/ names the same content, too.
enum class Comparison { strong, weak };

std::optional<std::string> list_in(const Request& request, std::string_view name) {
  if (request.header_count(name) == 0) return std::nullopt;
  return request.header_list(name);
}

// Of a header that is no list: two lines have no valid value together.
std::optional<std::string> value_in(const Request& request, std::string_view name) {
  const std::size_t lines = request.header_count(name);
  if (lines == 0) return std::nullopt;
  return lines == 1 ? std::string(request.header(name)) : std::string();
}

bool names_tag(std::string_view list, std::string_view etag, Comparison comparison) {
  if (trim(list) == "*") return true;
  for (std::string_view item : split(list, ',')) {
    item = trim(item);
    if (comparison == Comparison::weak && item.starts_with("W/")) item.remove_prefix(2);
    if (item == etag) return true;
  }
  return false;
}

FileChoice choose_range(std::string_view range, std::uint64_t size) {
  const FileChoice whole{FileAnswer::whole, {0, size}};
  if (!equal_ignoring_case(range.substr(0, 6), "bytes=")) return whole;
  const std::string_view spec = trim(range.substr(6));
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos || spec.find(',') != std::string_view::npos) return whole;
  const std::string_view first_text = spec.substr(0, dash);
  const std::string_view last_text = spec.substr(dash + 1);
  const auto last = parse_unsigned(last_text);
  if (first_text.empty()) {
    if (!last) return whole;
    if (*last == 0 || size == 0) return {FileAnswer::unsatisfiable, {}};
    const std::uint64_t length = std::min(*last, size);
    return {FileAnswer::part, {size - length, length}};
  }
  const auto first = parse_unsigned(first_text);
  if (!first || (!last && !last_text.empty()) || (last && *last < *first)) return whole;
  if (*first >= size) return {FileAnswer::unsatisfiable, {}};
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {FileAnswer::part, {*first, end - *first + 1}};
}

}  // namespace

FileConditions::FileConditions(const Request& request)
    : if_match(list_in(request, "If-Match")), if_none_match(list_in(request, "If-None-Match")) {
  if (request.method != Method::get) return;
  range = value_in(request, "Range");
  if_range = value_in(request, "If-Range");
}

FileChoice choose_answer(const FileConditions& conditions, std::string_view etag, std::uint64_t size) {
  const auto& [if_match, if_none_match, range, if_range] = conditions;
  if (if_match && !names_tag(*if_match, etag, Comparison::strong)) return {FileAnswer::precondition_failed, {}};
  if (if_none_match && names_tag(*if_none_match, etag, Comparison::weak)) return {FileAnswer::not_modified, {}};
  if (range && (!if_range || *if_range == etag)) return choose_range(*range, size);
  return {FileAnswer::whole, {0, size}};
}

}  // namespace restante::http
