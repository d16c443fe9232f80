#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {

http::Response rotate_admin_token(const Context& context, http::Request&) {
  const auto secret = context.rotate_admin_token();
  if (!secret) return answer(secret.error());
  JsonWriter out;
  out.begin_object();
  out.member("token", *secret);
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace restante::api
