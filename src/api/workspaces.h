// /workspaces: workspaces are created with a line to paste, read, changed and removed.
#pragma once
#include "api/context.h"
#include "base/json.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response create_workspace(const Context&, http::Request&);
http::Response list_workspaces(const Context&, http::Request&);
http::Response read_workspace(const Context&, http::Request&);
http::Response patch_workspace(const Context&, http::Request&);
http::Response remove_workspace(const Context&, http::Request&);

// public_url, or the address that the client used: on a new machine the line to paste works without changes.
std::string platform_url(const Context& context, const http::Request& request);
// Absent and empty are the same.
Result<std::optional<DeliveryMode>> mode_field(const Json& body);
Result<std::optional<WorkspaceId>> workspace_field(const Json& body, std::string_view name);

}  // namespace restante::api
