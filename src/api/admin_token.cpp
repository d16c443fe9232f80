#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {

http::Response rotate_admin_token(const Context& context, http::Request&) {
  const auto secret = context.rotate_admin_token();
  if (!secret) return answer(secret.error());
  return object_answer(200, [&](JsonWriter& out) { out.member("token", *secret); });
}

}  // namespace restante::api
