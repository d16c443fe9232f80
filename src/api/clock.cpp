#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {

http::Response accept_clock(const Context& context, http::Request&) {
  const std::string was = context.clock_check->accept();
  return object_answer(200, [&](JsonWriter& out) {
    out.member("now", context.clock.now());
    out.member_or_null("was", was);
  });
}

}  // namespace restante::api
