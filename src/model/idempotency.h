// Idempotency: a request that is repeated under the same key has one effect and one answer. Values only.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"

namespace restante {

// "This request has one effect."
struct Claim {
  Digest scope{};    // who makes the request, on which route, under which key
  Digest request{};  // what it asks for
  Time expires_at;
};

// The claim of a write, and how to build the answer that is kept with it.
template <class T>
struct ClaimedAnswer {
  Claim claim;
  // Runs in the transaction, so it must be pure; the answer must not contain a secret.
  std::function<std::string(const T&)> render;
};

// The last, optional argument of a write. Without it the write just happens. With it, the write and its answer are
// committed together. If the claim was used before, nothing is written and the error is answered_before(), or
// idempotency_mismatch when that was another request.
template <class T>
using OptionalClaim = std::optional<ClaimedAnswer<T>>;

// Not an error of the client, so not in model/errors.h: the same request was made before, and this is the answer of the
// first time. It never reaches a client as an error.
Error answered_before(std::string answer);
// The answer, if the error is answered_before().
std::optional<std::string> earlier_answer(const Error& error);

}  // namespace restante
