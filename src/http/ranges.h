// Conditional requests and ranges: which answer a request for a file gets, in the order of RFC 9110, section 13.2.2.
// Files have a strong entity tag and no date, so If-Modified-Since and If-Unmodified-Since are ignored, as the RFC
// demands. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/request.h"

namespace restante::http {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The headers that decide, copied from the request. Several lines of If-Match or If-None-Match are one list; several
// lines of Range or If-Range count as one without a value. A header without a value is there, and no tag fits it.
struct FileConditions {
  FileConditions() = default;
  explicit FileConditions(const Request& request);

  std::optional<std::string> if_match;
  std::optional<std::string> if_none_match;
  std::optional<std::string> range;  // of a GET only: ranges have no meaning for other methods
  std::optional<std::string> if_range;
};

enum class FileAnswer { whole, part, unsatisfiable, not_modified, precondition_failed };

struct FileChoice {
  FileAnswer answer = FileAnswer::whole;
  ByteRange range;  // what is sent of a whole file or a part
};

// For a file of `size` bytes with that entity tag. One range is served. Several ranges, malformed ones, and an If-Range
// that is not exactly this tag give the whole file.
FileChoice choose_answer(const FileConditions& conditions, std::string_view etag, std::uint64_t size);

}  // namespace restante::http
