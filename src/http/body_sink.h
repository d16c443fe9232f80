// How a route handles a body that is too large for memory. A BodySink takes it piece by piece; a Relay passes it on to
// another server while it arrives. The route decides from the request's head. It may also answer at once; then no byte
// of the body is read.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "http/response.h"

namespace restante::http {

// Takes a streamed body. If it is destroyed without finish(), the request was cut, and nothing of it may remain. Called
// on pool threads, one call at a time.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // An answer ends the request early: the rest of the body is not read.
  virtual std::optional<Response> take(std::string_view bytes) = 0;
  virtual Response finish() = 0;
};

struct Relay;
using BodyHandling = std::variant<std::unique_ptr<BodySink>, std::unique_ptr<Relay>, Response>;

// A body that is passed on directly. At most one read of it is in memory, and neither side can be faster than the
// other. The reply ends the relay, also when it comes before the end of the body.
struct Relay {
  // The request to the other server; its body is not used. The timeout applies to the connection, and again to the
  // reply after the whole body was sent. `then` also gets the outcome `cut`, but its answer is not used: the edge
  // answers the sender itself.
  Forward order;
  // Called instead of `then` when there is no connection, so that nothing of the body has been read. Returns a BodySink
  // that takes the body, or an answer. May be empty.
  std::function<BodyHandling(const Forwarded& came)> instead;
};

}  // namespace restante::http
