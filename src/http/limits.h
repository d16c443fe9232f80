// Limits: how much of a request is read before it is refused. Plain numbers from the configuration, the same for every
// connection. The defaults are the documented hard limits; a test exists for each.
#pragma once
#include <cstddef>
#include <cstdint>

namespace restante::http {

struct Limits {
  std::size_t request_line = 8 * 1024;       // longer → 414
  std::size_t header_bytes = 16 * 1024;      // all header lines together; more → 431
  std::size_t header_count = 100;            // more → 431
  std::uint64_t json_body = 1024 * 1024;     // a body that is read into memory; more → 413
  std::uint64_t stream_body = 128ull << 20;  // a body that is streamed; more → 413
};

}  // namespace restante::http
