// What handlers share that put a message into an inbox.
#pragma once
#include <functional>

#include "api/context.h"
#include "api/idempotency.h"
#include "http/response.h"

namespace restante::api {

// The answer for a message that is stored in the inbox, or the error.
http::Response queued_answer(std::string_view delivery_mode, const Result<Appended>& appended);
// Appends the row to the workspace's inbox, once; answers when it is stored.
http::Response post(const Context& context, const IdempotentRequest& idempotent, WorkspaceId workspace,
                    const NewInboxRow& row, std::function<http::Response(const Result<Appended>&)> to_answer);

}  // namespace restante::api
