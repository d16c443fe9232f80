// /workspaces/:id/tokens and /admin/invites: tokens are made, listed and revoked.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response list_tokens(const Context&, http::Request&);
http::Response create_token(const Context&, http::Request&);
http::Response revoke_token(const Context&, http::Request&);
http::Response list_invites(const Context&, http::Request&);
http::Response create_invite(const Context&, http::Request&);
http::Response revoke_invite(const Context&, http::Request&);

}  // namespace restante::api
