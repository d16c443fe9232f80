// Reserved members: what only the server may write into a message, and which rows of an inbox only the server appends.
// An agent takes a message with a delegation_id for a task, so a client must never be able to send one. Pure functions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace restante {

// Whether the server writes a member of this name into the metadata of a task (model/inbox_messages.h).
bool is_reserved_member(std::string_view name);

// Removes the reserved members from a message that a client sent, wherever a reader may look for them: in the call, its
// params, the message and the message's parts, and in the metadata of each. Returns what was removed, for the answer:
// "metadata.delegation_id", each name once, sorted. Takes any JSON.
std::vector<std::string> remove_reserved_members(Json& call);

// Whether only the server appends rows with this method: a client's row would be taken for a file that a person sent,
// or for the result of a task.
bool is_reserved_method(std::string_view method);

}  // namespace restante
