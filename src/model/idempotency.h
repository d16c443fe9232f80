// Idempotency: a request that is repeated under the same key has one effect and one answer. Values only.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"

namespace restante {

// Claim: "this request has one effect".
struct Claim {
  Digest scope{};    // who makes the request, on which route, under which key
  Digest request{};  // what it asks for
  Time expires_at;
};

// What a verb with a claim returns: the effect made now, or the kept answer of the first time.
template <class T>
struct Claimed {
  std::optional<T> made;
  std::string replay;
};

// Builds the answer to keep. Runs in the transaction, so it must be pure; the answer must not contain a secret.
template <class T>
using Render = std::function<std::string(const T&)>;

}  // namespace restante
