// Tasks for agents that are called: the callback is asked once, and may answer at once or later.
#pragma once
#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// The task is written down already. Whatever comes of the call, the answer is `accepted`: what the callback said moves
// the delegation on, and a task it could not take goes to the callee's inbox.
http::Response push_task(const Context& context, const Workspace& target, const NewDelegation& task,
                         const Delegation& delegation, http::Response accepted);

// What an answer says of the task: done, failed, under way, or merely taken.
DelegationReport report_in(const http::Forwarded& came);

}  // namespace restante::api
