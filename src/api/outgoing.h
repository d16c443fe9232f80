// Messages with files of the sending agent.
#pragma once
#include <vector>

#include "api/context.h"
#include "api/idempotency.h"
#include "http/response.h"

namespace restante::api {

// `row` is the message as the target gets it, with the ids that the files have there. For a poll workspace message and
// files are one transaction. For a push workspace the files are staged on the server before its callback is called.
http::Response send_with_files(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                               NewInboxRow row, std::vector<OutgoingFile> files);

}  // namespace restante::api
