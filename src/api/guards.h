// Guards: who may call a route. Each reads the head alone, before any body is read, and either stores the principal in
// the request or refuses. The names in the route table are these functions.
#pragma once
#include <optional>
#include <string_view>

#include "api/context.h"
#include "base/error.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

using Guard = std::optional<http::Response> (*)(const Context&, http::Request&);

// Any client; no token is read.
std::optional<http::Response> anyone(const Context&, http::Request&);
// The operator.
std::optional<http::Response> admin(const Context&, http::Request&);
// The agent of :id, or the operator.
std::optional<http::Response> agent(const Context&, http::Request&);
// The same; but the agent of a removed :id, whose token was revoked with it, is told that the workspace is gone: 404.
std::optional<http::Response> agent_or_removed(const Context&, http::Request&);
// The agent of :id, or a person who may use its chat: the operator or one of its senders.
std::optional<http::Response> member(const Context&, http::Request&);
// Any valid token except for an enrolment's, which is only for registration; the handler checks further.
std::optional<http::Response> token(const Context&, http::Request&);
// An agent that registers: any valid token, or none at all when registration is open and the request is not from a page
// of another origin.
std::optional<http::Response> registrant(const Context&, http::Request&);
// The page, under a Host it may be served from.
std::optional<http::Response> page(const Context&, http::Request&);
// Prometheus: open on loopback to a client that no proxy stands before, else the operator's or the metrics token.
std::optional<http::Response> metrics(const Context&, http::Request&);

// The error for an invalid token: that it is invalid or, after too many of them from one address, that the client must
// wait.
Error invalid_token(const Context& context, const http::Request& request);

// Loopback names, public_url's host and the configured ones; any port.
bool host_allowed(const Context& context, std::string_view host);
// Whether the request is made by a page of this server, as far as the browser reports it.
bool same_origin(const Context& context, const http::Request& request);

}  // namespace restante::api
