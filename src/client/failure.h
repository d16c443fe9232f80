// Failure: why an outgoing request brought no usable answer, as a value. `kind` is for programs, `sentence` for a
// person; neither ever holds a token or a body. Outcome<T> is what every call of client/ returns: an answer with a bad
// status is an answer, until expect_success() says otherwise.
#pragma once
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace restante::client {

struct Failure {
  enum class Kind {
    bad_url,      // the address, or a proxy's from the environment, is not one
    unreachable,  // no such host, refused, no route, or the proxy would not
    tls,          // no secure connection: certificate, name or protocol; not one that was cut
    timeout,      // connected, but silent for too long
    cut,          // the connection ended before the answer did
    protocol,     // what came is not HTTP
    too_large,    // the answer is bigger than the caller allowed
    status,       // a complete answer that is not 2xx
    stopped,      // the caller's own sink or source said stop
    cancelled,    // cancel()
  };

  // What of a certificate is not believed.
  enum class Doubt { none, authority, name };

  Failure() = default;
  Failure(Kind k, std::string s) : kind(k), sentence(std::move(s)) {}

  Kind kind = Kind::unreachable;
  std::string sentence;
  int status = 0;    // of Kind::status
  std::string code;  // of Kind::status: the stable word of the server's error, if it sent one
  std::optional<std::chrono::seconds> retry_after;
  Doubt doubt = Doubt::none;  // of Kind::tls

  // Whether the same request may well succeed later with nothing changed on this side.
  bool passes() const;
};

template <class T>
using Outcome = boost::system::result<T, Failure>;

// Called by Outcome::value() on a failure: asking for the value without looking is our own bug.
[[noreturn]] inline void throw_exception_from_error(const Failure& failure, const boost::source_location&) {
  throw std::logic_error("unchecked failure: " + failure.sentence);
}

}  // namespace restante::client
