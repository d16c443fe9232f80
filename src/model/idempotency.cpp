#include "model/idempotency.h"

namespace restante {
namespace {

constexpr ErrorKind kAnsweredBefore{"answered_before", "this request was made before", ErrorClass::conflict};

}  // namespace

Error answered_before(std::string answer) { return {kAnsweredBefore, {{"answer", std::move(answer)}}}; }

const std::string* earlier_answer(const Error& error) {
  return error.is(kAnsweredBefore) ? std::get_if<std::string>(&error.facts().front().value) : nullptr;
}

}  // namespace restante
