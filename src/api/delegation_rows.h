// Delegations as JSON. Pure.
#pragma once
#include <optional>

#include "base/json_writer.h"
#include "desk/delegations.h"
#include "http/request.h"

namespace restante::api {

// The id in the path; none when it cannot be one.
std::optional<std::string> delegation_in(const http::Request& request);

// Into an open object. `seen_by` is whose list it stands in: the direction is told for it.
void write_delegation(JsonWriter& out, const Delegation& one, const desk::DelegationView& view,
                      std::optional<WorkspaceId> seen_by);
// What the row does not say: the whole task and result, files, the history.
void write_record(JsonWriter& out, const DelegationRecord& record);

}  // namespace restante::api
