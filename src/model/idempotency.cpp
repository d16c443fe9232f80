#include "model/idempotency.h"

#include <utility>
#include <variant>

namespace restante {
namespace {

constexpr ErrorKind kAnsweredBefore{"answered_before", "this request was made before", ErrorClass::conflict};

}  // namespace

Error answered_before(std::string answer) { return {kAnsweredBefore, {{"answer", std::move(answer)}}}; }

std::optional<std::string> earlier_answer(const Error& error) {
  if (!error.is(kAnsweredBefore)) return std::nullopt;
  return std::get<std::string>(error.facts().front().value);
}

}  // namespace restante
