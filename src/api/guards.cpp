#include "api/guards.h"

#include <algorithm>

#include "api/answers.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/credentials.h"
#include "http/url.h"
#include "model/errors.h"

namespace restante::api {
namespace {

std::string_view without_port(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

Result<Principal> authenticate(const Context& context, const http::Request& request) {
  const std::size_t given = request.header_count("Authorization");
  if (given > 1) return Error(errors::bad_parameter).with_sentence("send one Authorization header");
  if (given == 1) {
    const auto secret = http::bearer_of(request);
    if (!secret) return errors::missing_token;
    auto principal = context.principals.by_token(*secret);
    return principal ? principal : invalid_token(context, request);
  }
  const auto cookie = http::session_cookie(request);
  if (!cookie) return errors::missing_token;
  // A browser sends the cookie with requests of any page: only our own pages may use it.
  if (!host_allowed(context, request.host)) return errors::foreign_host;
  const bool reads = request.method == http::Method::get || request.method == http::Method::head;
  if (!same_origin(context, request) &&
      !(reads && request.header("Sec-Fetch-Site").empty() && request.header("Origin").empty())) {
    return errors::foreign_origin;
  }
  return context.principals.by_session(*cookie);
}

// Authenticates and applies `allowed`; a refusal is the route's own 401.
template <class Allowed>
std::optional<http::Response> admit(const Context& context, http::Request& request, const ErrorKind& refusal,
                                    Allowed allowed) {
  const auto principal = authenticate(context, request);
  if (!principal) {
    const bool unknown = principal.error().error_class() == ErrorClass::unauthenticated;
    return answer(unknown && refusal.code == errors::admin_required.code ? Error(refusal) : principal.error());
  }
  request.client = principal->limit_owner();
  const auto decision = allowed(*principal);
  if (decision.has_error()) return answer(decision.error());
  if (!*decision) return answer(refusal);
  request.caller = *principal;
  return std::nullopt;
}

// For routes under /workspaces/:id.
template <class Allowed>
std::optional<http::Response> admit_to_workspace(const Context& context, http::Request& request, Allowed allowed) {
  return admit(context, request, errors::invalid_token, [&](const Principal& principal) -> Result<bool> {
    const auto id = WorkspaceId::parse(request.param("id"));
    if (!id) return bad_id("id");
    return allowed(principal, *id);
  });
}

// A proxy that the configuration does not name usually shows itself by one of these.
bool came_through_proxy(const http::Request& request) {
  constexpr std::string_view added[] = {"Forwarded",         "X-Forwarded-For", "X-Forwarded-Host",
                                        "X-Forwarded-Proto", "X-Real-IP",       "Via"};
  return std::ranges::any_of(added, [&](std::string_view name) { return request.header_count(name) > 0; });
}

}  // namespace

Error invalid_token(const Context& context, const http::Request& request) {
  context.metrics.invalid_tokens.Increment();
  const auto wait = context.invalid_token_limiter.count_invalid(http::limit_key(request.peer));
  if (!wait) return errors::invalid_token;
  return {errors::too_many_invalid_tokens, {{"retry_after", wait->count()}}};
}

bool host_allowed(const Context& context, std::string_view host) {
  std::string_view name = without_port(host);
  if (equal_ignoring_case(name, "localhost")) return true;
  const std::string ours = http::host_in_brackets(http::split_url(context.public_url).host);
  if (!ours.empty() && equal_ignoring_case(name, ours)) return true;
  for (const std::string& allowed : context.allowed_hosts) {
    if (equal_ignoring_case(name, allowed)) return true;
  }
  if (name.size() > 2 && name.front() == '[') name = name.substr(1, name.size() - 2);
  return http::is_loopback(name);
}

bool same_origin(const Context& context, const http::Request& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (!site.empty()) return site == "same-origin" || site == "none";
  const std::string_view origin = request.header("Origin");
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;
  if (!context.public_url.empty() && equal_ignoring_case(origin, context.public_url)) return true;
  return host_allowed(context, request.host) && equal_ignoring_case(origin.substr(scheme + 3), request.host);
}

std::optional<http::Response> anyone(const Context&, http::Request&) { return std::nullopt; }

std::optional<http::Response> admin(const Context& context, http::Request& request) {
  return admit(context, request, errors::admin_required,
               [](const Principal& p) -> Result<bool> { return p.is_admin(); });
}

std::optional<http::Response> agent(const Context& context, http::Request& request) {
  return admit_to_workspace(context, request,
                            [](const Principal& p, WorkspaceId id) { return p.is_admin() || p.is_agent_of(id); });
}

std::optional<http::Response> agent_or_removed(const Context& context, http::Request& request) {
  const auto id = WorkspaceId::parse(request.param("id"));
  const auto secret = http::bearer_of(request);
  // Not counted as an invalid token: such an agent asks until it is told.
  if (id && secret && context.principals.former_agent(*secret) == id) {
    const auto workspace = context.workspaces.find(*id);
    if (!workspace && workspace.error().is(errors::workspace_removed)) return answer(errors::workspace_not_found);
  }
  return agent(context, request);
}

std::optional<http::Response> member(const Context& context, http::Request& request) {
  return admit_to_workspace(context, request,
                            [](const Principal& p, WorkspaceId id) { return p.is_person_of(id) || p.is_agent_of(id); });
}

std::optional<http::Response> token(const Context& context, http::Request& request) {
  return admit(context, request, errors::invalid_token,
               [](const Principal& p) -> Result<bool> { return p.role != Principal::Role::enrolment; });
}

std::optional<http::Response> registrant(const Context& context, http::Request& request) {
  const bool anonymous = request.header_count("Authorization") == 0 && !http::session_cookie(request);
  if (!context.open_registration || !anonymous) {
    return admit(context, request, errors::invalid_token, [](const Principal&) -> Result<bool> { return true; });
  }
  if (!host_allowed(context, request.host)) return answer(errors::foreign_host);
  if (!request.header("Origin").empty() && !same_origin(context, request)) return answer(errors::foreign_origin);
  request.caller = Principal{Principal::Role::anonymous, {}, {}, false};
  return std::nullopt;
}

std::optional<http::Response> page(const Context& context, http::Request& request) {
  if (host_allowed(context, request.host)) return std::nullopt;
  return answer(errors::foreign_host);
}

std::optional<http::Response> metrics(const Context& context, http::Request& request) {
  // The Host too: a page in the operator's browser must not read them under a name of its own.
  if (context.open_metrics && !came_through_proxy(request) && host_allowed(context, request.host)) return std::nullopt;
  const std::string_view value = request.header("Authorization");
  if (context.metrics_token != Digest{} && value.substr(0, 7) == "Bearer " &&
      equal_constant_time(sha256(value.substr(7)), context.metrics_token)) {
    return std::nullopt;
  }
  return admin(context, request);
}

}  // namespace restante::api
