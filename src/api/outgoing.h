// Messages that bring files of the sending agent along.
#pragma once
#include <vector>

#include "api/context.h"
#include "api/idempotency.h"
#include "http/response.h"

namespace restante::api {

// `row` is the message as the target gets it, naming the files by the ids they have there. For a poll workspace message
// and files are one transaction; for a push workspace the files wait at the platform before its callback is asked.
http::Response send_with_files(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                               NewInboxRow row, std::vector<OutgoingFile> files);

}  // namespace restante::api
