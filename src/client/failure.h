// Failure is a value: why an outgoing request got no usable answer. `kind` is for programs, `sentence` for people;
// neither ever contains a token or a body. Every call of client/ returns an Outcome<T>. An answer with a bad status is
// an answer; expect_success() makes it a failure.
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
    bad_url,      // the address, or a proxy's address from the environment, is not valid
    unreachable,  // no such host, refused, no route, or the proxy refused
    tls,          // no secure connection: certificate, name or protocol; not a connection that was cut
    timeout,      // connected, but no data for too long
    cut,          // the connection ended before the answer did
    protocol,     // the answer is not HTTP
    too_large,    // the answer is bigger than the caller allowed
    status,       // a complete answer that is not 2xx
    stopped,      // the caller's own sink or source stopped it
    cancelled,    // cancel()
  };

  // The part of a certificate that is not trusted.
  enum class Doubt { none, authority, name };

  Failure() = default;
  Failure(Kind k, std::string s) : kind(k), sentence(std::move(s)) {}

  Kind kind = Kind::unreachable;
  std::string sentence;
  int status = 0;    // of Kind::status
  std::string code;  // of Kind::status: the stable code of the server's error, if it sent one
  std::optional<std::chrono::seconds> retry_after;
  Doubt doubt = Doubt::none;  // of Kind::tls

  // Whether the server answered with exactly this status.
  bool is_status(int wanted) const { return kind == Kind::status && status == wanted; }
  // Whether the same request may succeed later without a change on this side.
  bool passes() const;
};

template <class T>
using Outcome = boost::system::result<T, Failure>;

// Called by Outcome::value() on a failure: to take the value without a check is our own bug.
[[noreturn]] inline void throw_exception_from_error(const Failure& failure, const boost::source_location&) {
  throw std::logic_error("unchecked failure: " + failure.sentence);
}

}  // namespace restante::client
