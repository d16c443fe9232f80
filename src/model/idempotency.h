// Idempotency: a request that is repeated under the same key has one effect and one answer. Values only.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"

namespace restante {

// A claim on "this request has one effect".
struct Claim {
  Digest scope{};    // who asks, on which route, under which key
  Digest request{};  // what is asked
  Time expires_at;
};

// What a verb under a claim gives: made now, or the answer that was given the first time.
template <class T>
struct Claimed {
  std::optional<T> made;
  std::string replay;
};

// The answer to keep. Runs in the transaction: pure, and without any secret.
template <class T>
using Render = std::function<std::string(const T&)>;

}  // namespace restante
