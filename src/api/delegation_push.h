// Tasks for agents that are called: the callback is asked once, while nobody waits, and may answer at once or later.
#pragma once
#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// Leave to ask the target's callback, with what is shown there.
struct TaskCall {
  std::shared_ptr<desk::Callbacks::Permit> permit;
  std::string secret;
};
// None when the callback cannot be asked now: the task goes to the inbox at once.
std::optional<TaskCall> prepare_call(const Context& context, const Workspace& target);

// The task is written down already, and its caller told so. What the callback says moves the delegation on, and a task
// it could not take goes to the callee's inbox. If the server dies meanwhile, the sweep puts it there: then the agent
// may get it twice, with the same messageId.
void push_task(const Context& context, TaskCall call, const Workspace& target, const NewDelegation& task,
               const Delegation& delegation);

// What an answer says of the task: done, failed, under way, or merely taken.
DelegationReport report_in(const http::Forwarded& came);

}  // namespace restante::api
