// Fault: why a request is refused before any route gets it, or while its body arrives. All texts are our own constants.
#pragma once
#include <cstdint>
#include <string_view>

#include "http/response.h"

namespace restante::http {

struct Fault {
  int status;
  std::string_view code;
  std::string_view sentence;
};

// The JSON answer; it contains `max` unless that is 0.
Response to_response(const Fault& fault, std::uint64_t max = 0);

namespace faults {
inline constexpr Fault malformed{400, "bad_request", "the request is not well-formed HTTP/1.1"};
inline constexpr Fault no_host{400, "bad_request", "an HTTP/1.1 request must have a Host header; this one has none"};
inline constexpr Fault several_hosts{400, "bad_request", "a request must have one Host header; this one has more"};
inline constexpr Fault uri_too_long{414, "uri_too_long", "the request line is too long"};
inline constexpr Fault headers_too_large{431, "headers_too_large", "the request has too many or too large headers"};
inline constexpr Fault unknown_method{501, "method_unknown", "this method is not implemented"};
inline constexpr Fault unknown_coding{501, "transfer_coding_unknown",
                                      "only 'Transfer-Encoding: chunked' or a Content-Length is understood"};
inline constexpr Fault bad_expect{417, "expectation_failed", "only 'Expect: 100-continue' is understood"};
inline constexpr Fault encoded_body{415, "content_encoding_unsupported", "send the body without a Content-Encoding"};
inline constexpr Fault length_required{411, "length_required",
                                       "this route takes a body: send Content-Length or chunked transfer encoding"};
inline constexpr Fault unexpected_body{400, "unexpected_body", "this method takes no body"};
inline constexpr Fault body_too_large{413, "body_too_large", "the body exceeds what this route takes"};
inline constexpr Fault timed_out{408, "request_timeout", "the request did not arrive in time"};
inline constexpr Fault body_cut{400, "body_cut", "the body ended before its announced length"};
}  // namespace faults

}  // namespace restante::http
