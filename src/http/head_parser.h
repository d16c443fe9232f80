// The strict parser of HTTP/1.x request heads. Beast accepts request smuggling, folded headers, a second Host and more
// (docs/adr/0002), so the server parses heads itself. Anything that two parsers could understand differently is
// refused. Pure and total: any bytes give a result, nothing throws. Linear in the bytes that arrived.
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
  // Pass the whole buffer each time; only the new bytes are scanned.
  Outcome scan(std::string_view buffer, const Limits& limits);

 private:
  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  std::size_t lines_ = 0;
  std::size_t request_line_end_ = 0;
};

// Parses a complete head and stores it in `request`. Empty lines before the request line are not part of it.
std::optional<Fault> parse_head(std::string_view head, const Limits& limits, Request& request);

}  // namespace restante::http
