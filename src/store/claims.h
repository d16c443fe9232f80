// Claims: the answers that are kept under idempotency keys, and how a backend's write runs under a claim.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/idempotency.h"

namespace restante {

class ClaimStore {
 public:
  virtual ~ClaimStore() = default;

  // The answer that was kept under this claim; nothing when the claim is unused or has expired. idempotency_mismatch.
  virtual Result<std::optional<std::string>> find_answer(const Claim& claim, Time now) = 0;
};

// For backends: makes a verb of `effect` that runs in a transaction. With a claim, `effect` runs only if the claim is
// unused, and its rendered answer is kept. The backend has find_claim() and keep_claim() for its transaction.
template <class T, class Effect>
auto under_claim(OptionalClaim<T> claim, Time now, Effect effect) {
  return [claim = std::move(claim), now, effect = std::move(effect)](auto& transaction) -> Result<T> {
    if (!claim) return effect(transaction);
    auto known = find_claim(transaction, claim->claim, now);
    if (!known) return known.error();
    if (*known) return answered_before(std::move(**known));
    Result<T> made = effect(transaction);
    if (made) keep_claim(transaction, claim->claim, claim->render(*made));
    return made;
  };
}

}  // namespace restante
