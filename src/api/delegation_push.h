// Tasks for agents with a callback. The callback is called once, while no client waits, and may answer at once or
// later.
#pragma once
#include "api/context.h"
#include "http/response.h"

namespace restante::api {

// A permit to call the target's callback, with the secret that is sent to it.
struct TaskCall {
  std::shared_ptr<desk::Callbacks::Permit> permit;
  std::string secret;
};
// Nothing when the callback cannot be called now: then the task goes to the inbox at once.
std::optional<TaskCall> prepare_call(const Context& context, const Workspace& target);

// The task is stored already, and its caller has the answer. The callback's answer moves the delegation to its next
// status; a task that the callback could not take goes to the receiving agent's inbox. If the server dies meanwhile,
// the sweep puts it there: then the agent may get it twice, with the same messageId.
void push_task(const Context& context, TaskCall call, const Workspace& target, const NewDelegation& task,
               const Delegation& delegation);

// What the callback's answer means for the task: done, failed, in progress, or only taken.
DelegationReport report_in(const http::Forwarded& came);

}  // namespace restante::api
