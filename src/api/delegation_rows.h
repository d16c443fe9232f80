// Delegations as JSON. Pure.
#pragma once
#include <optional>

#include "base/json_writer.h"
#include "desk/delegations/delegations.h"
#include "http/request.h"

namespace restante::api {

// The id in the path; nothing when it cannot be one.
std::optional<std::string> delegation_in(const http::Request& request);

// Writes into an open object. `seen_by` is the workspace whose list this is; the direction is relative to it.
void write_delegation(JsonWriter& out, const Delegation& one, const desk::DelegationView& view,
                      std::optional<WorkspaceId> seen_by);
// Writes what the row does not contain: the whole task and result, files, the history.
void write_record(JsonWriter& out, const DelegationRecord& record);

}  // namespace restante::api
