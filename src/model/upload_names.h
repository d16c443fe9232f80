// The name and the media type under which an uploaded file is stored: rules of the wire contract, as pure functions.
//
// Both take what a client sent, bytes of any kind and length, and return plain ASCII that is safe in a log line, a
// response header and a file name. Both are idempotent. A stored name is still untrusted data: no path is ever made
// from it alone.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace restante {

inline constexpr std::size_t kMaxFilename = 100;
inline constexpr std::size_t kMaxKeptExtension = 16;  // dot included; a longer one is part of the name
inline constexpr std::size_t kMaxMediaType = 127;

// 1 to 100 of [A-Za-z0-9._-], never `.` or `..`. The last component after `/` or `\`; every other code point, and every
// byte that is not UTF-8, becomes one `_`; cut to 100 with its extension kept; `file` when nothing is left.
std::string sanitise_filename(std::string_view raw);

// Empty when there is none, else `type/subtype` without parameters, as sent; `application/octet-stream` for anything
// that is not exactly that: a range with `*`, characters outside tokens, more than 127 of them.
std::string normalise_media_type(std::string_view raw);

}  // namespace restante
