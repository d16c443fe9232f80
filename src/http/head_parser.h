// The strict parser of HTTP/1.x request heads. Beast accepts request smuggling, folded headers, a second Host and more
// (docs/adr/0002), so the server parses heads itself. Anything that two parsers could understand differently is
// refused. Pure and total: any bytes give a result, nothing throws. Linear in the bytes that arrived.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/fault.h"
#include "http/request.h"

namespace restante::http {

// How much of a request is read before it is refused. Plain numbers from the configuration, the same for every
// connection. The defaults are the documented hard limits; a test exists for each.
struct Limits {
  std::size_t request_line = 8 * 1024;       // longer → 414
  std::size_t header_bytes = 16 * 1024;      // all header lines together; more → 431
  std::size_t header_count = 100;            // more → 431
  std::uint64_t json_body = 1024 * 1024;     // a body that is read into memory; more → 413
  std::uint64_t stream_body = 128ull << 20;  // a body that is streamed; more → 413
};

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
