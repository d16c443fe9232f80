// Range and ETag: the part of a file that a request asks for. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace restante::http {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

enum class RangeAnswer { whole, part, unsatisfiable };

struct RangeChoice {
  RangeAnswer answer = RangeAnswer::whole;
  ByteRange range;
};

// For a file of `size` bytes with that entity tag. One range is served. Several ranges, malformed ones, and an If-Range
// for another version give the whole file, as RFC 9110 allows.
RangeChoice choose_range(std::string_view range, std::string_view if_range, std::string_view etag, std::uint64_t size);

// Whether an If-None-Match or If-Match list contains this tag. Weak comparison.
bool etag_matches(std::string_view list, std::string_view etag);

}  // namespace restante::http
