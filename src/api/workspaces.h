// What handlers share that read workspaces from a body, or write the line to paste.
#pragma once
#include "api/context.h"
#include "base/json.h"
#include "http/request.h"

namespace restante::api {

// public_url, or the address that the client used: on a new machine the line to paste works without changes.
std::string platform_url(const Context& context, const http::Request& request);
// Absent and empty are the same.
Result<std::optional<DeliveryMode>> mode_field(const Json& body);
Result<std::optional<WorkspaceId>> workspace_field(const Json& body, std::string_view name);

}  // namespace restante::api
