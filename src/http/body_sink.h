// What a route does with a body that is too large for memory: an Intake takes it piece by piece, a Relay has it passed
// on to another server as it comes. A route decides which from the request's head; it may also answer at once, and then
// no byte of the body is read.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "http/response.h"

namespace restante::http {

// Takes a streamed body. Destroyed without finish() = the request was cut: nothing of it may remain.
// Called on pool threads, one call at a time.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // An answer ends the request early: the rest of the body is not wanted.
  virtual std::optional<Response> take(std::string_view bytes) = 0;
  virtual Response finish() = 0;
};

struct Relay;
using BodyHandling = std::variant<std::unique_ptr<BodySink>, std::unique_ptr<Relay>, Response>;

// A body that goes straight through: no more of it is held than one read brings, and neither side can be faster than
// the other. The reply ends it, also when it comes before the body's end.
struct Relay {
  // To whom. Its body is not used. The timeout is for the connection, and again for the reply once the body is out. The
  // outcome `cut` is only told to `then`: the sender gets the edge's own answer.
  Forward order;
  // Asked instead of `then` when there is no connection, so that nothing of the body has been taken: an Intake that
  // takes it, or an answer. May be empty.
  std::function<BodyHandling(const Forwarded& came)> instead;
};

}  // namespace restante::http
