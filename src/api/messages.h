// What handlers share that put a message into an inbox, and messages with files of the sending agent.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/idempotency.h"
#include "base/json_writer.h"
#include "http/response.h"

namespace restante::api {

// "ignored":[…], what was removed from the client's message; no member when nothing was.
void write_ignored(JsonWriter& out, const std::vector<std::string>& ignored);
// The answer for a message that is stored in the inbox, or the error.
http::Response queued_answer(std::string_view delivery_mode, const std::vector<std::string>& ignored,
                             const Result<Appended>& appended);
// Appends the row to the workspace's inbox, once; answers when it is stored.
http::Response post(const Context& context, const IdempotentRequest& idempotent, WorkspaceId workspace,
                    const NewInboxRow& row, std::function<http::Response(const Result<Appended>&)> to_answer);

// `row` is the message as the target gets it, with the ids that the files have there. For a poll workspace message and
// files are one transaction. For a push workspace the files are staged on the server before its callback is called.
http::Response send_with_files(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                               NewInboxRow row, std::vector<OutgoingFile> files);  // outgoing.cpp

}  // namespace restante::api
