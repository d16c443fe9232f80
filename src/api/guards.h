// Guards: who may call a route. Each looks at the head alone, before any body is read, and either notes the caller in
// the request or refuses. The words in the route table are these functions.
#pragma once
#include <optional>
#include <string_view>

#include "api/context.h"
#include "base/error.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

using Guard = std::optional<http::Response> (*)(const Context&, http::Request&);

// No token is looked at.
std::optional<http::Response> anyone(const Context&, http::Request&);
// The operator.
std::optional<http::Response> admin(const Context&, http::Request&);
// The agent of :id, or the operator.
std::optional<http::Response> agent(const Context&, http::Request&);
// The agent of :id, or a person who may use its chat: the operator or one of its senders.
std::optional<http::Response> member(const Context&, http::Request&);
// Any valid token but an enrolment's, which is for registering alone; the handler looks closer.
std::optional<http::Response> token(const Context&, http::Request&);
// An agent that registers: any valid token, or none at all where registration is open and no foreign page asks.
std::optional<http::Response> registrant(const Context&, http::Request&);
// The page, under a Host it may be served from.
std::optional<http::Response> page(const Context&, http::Request&);
// Prometheus: open on loopback, else the admin's or the metrics token.
std::optional<http::Response> metrics(const Context&, http::Request&);

inline constexpr std::string_view kSessionCookie = "__Host-restante";

// What is answered to a token that is none: that it is invalid, or, when the address has shown too many of them, to
// wait.
Error invalid_token(const Context& context, const http::Request& request);

// loopback names, public_url's host and the configured ones; any port.
bool host_allowed(const Context& context, std::string_view host);
// A request by a page of ours, as far as the browser tells.
bool same_origin(const Context& context, const http::Request& request);

}  // namespace restante::api
