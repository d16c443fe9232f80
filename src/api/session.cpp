#include "api/handlers.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/guards.h"
#include "base/names.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/credentials.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Role = Principal::Role;
constexpr Names<Role, Role::anonymous> kRoles{"admin", "workspace", "sender", "enrolment", "anonymous"};

http::Response describe(const Principal& principal) {
  return object_answer(200, [&](JsonWriter& out) {
    out.member("role", kRoles.of(principal.role));
    if (principal.workspace_id) out.member("workspace_id", principal.workspace_id->text());
    // The same with the token and with a session that it opened: by it the page recognises the person.
    const auto& token = principal.by_session ? principal.opened_by : principal.token_id;
    if (token) out.member("token_id", token->text());
  });
}

// As the browser sees it: Secure cookies work on https and, as an exception, on loopback.
bool cookie_can_be_secure(const http::Request& request) { return request.secure || http::is_loopback(request.peer); }

}  // namespace

http::Response sign_in(const Context& context, http::Request& request) {
  if (!host_allowed(context, request.host)) return answer(errors::foreign_host);
  if (!same_origin(context, request)) return answer(errors::foreign_origin);
  if (!cookie_can_be_secure(request)) return answer(errors::sign_in_needs_tls);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const std::string secret = fields.required_text("token");
  if (fields.error()) return answer(*fields.error());
  const auto session = context.principals.open_session(trim(secret));
  if (!session) {
    const bool unknown = session.error().is(errors::invalid_token);
    return answer(unknown ? invalid_token(context, request) : session.error());
  }
  http::Response response = describe(session->principal);
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; Secure; SameSite=Strict", http::kSessionCookie,
                                session->secret, session->lifetime.count()));
  return response;
}

http::Response who_am_i(const Context&, http::Request& request) { return describe(caller(request)); }

http::Response sign_out(const Context& context, http::Request& request) {
  context.principals.close_session(caller(request));
  http::Response response = http::json(200, R"({"status":"signed_out"})");
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("{}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict", http::kSessionCookie));
  return response;
}

}  // namespace restante::api
