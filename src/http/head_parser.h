// The strict reader of HTTP/1.x request heads. Beast lets request smuggling, folded headers, second Hosts and more
// through (docs/adr/0002), so the server reads heads itself: anything two parsers could understand differently is
// refused. Pure and total: any bytes give an answer, nothing throws. Linear in what arrived.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "http/fault.h"
#include "http/limits.h"
#include "http/request.h"

namespace restante::http {

// Finds the end of a head in a buffer that grows. One object per head.
class HeadScanner {
 public:
  struct Outcome {
    std::size_t head_size = 0;  // > 0: complete, that many bytes from the front of the buffer
    std::optional<Fault> fault;
  };
  // Give it the whole buffer each time; it looks only at what is new.
  Outcome scan(std::string_view buffer, const Limits& limits);

 private:
  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  std::size_t lines_ = 0;
  std::size_t request_line_end_ = 0;
};

// Parses a complete head, which `request` takes over as its own. Empty lines before the request line are not part of
// it.
std::optional<Fault> parse_head(std::string_view head, const Limits& limits, Request& request);

}  // namespace restante::http
