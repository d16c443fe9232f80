// ToolContext: what the tools work with: the agent that runs in this process, the queue where its deliveries wait,
// which files may be sent, and clients of the server, which stay connected from one call to the next. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/mutex.h"
#include "mcp/attachments.h"
#include "mcp/call.h"
#include "mcp/delivery_queue.h"
#include "mcp/tool.h"

namespace restante::mcp {

// The last line that the agent printed: the reason, when it has given up. Thread-safe.
class LastMessage {
 public:
  void set(std::string_view line) {
    const MutexLock lock(mutex_);
    last_ = line;
  }
  std::string last() const {
    const MutexLock lock(mutex_);
    return last_;
  }

 private:
  mutable Mutex mutex_;
  std::string last_ RESTANTE_GUARDED_BY(mutex_);
};

class ToolContext {
 public:
  ToolContext(agent::Agent& agent, DeliveryQueue& delivery_queue, const LastMessage& last_message,
              AttachmentRules attachments)
      : agent_(agent),
        delivery_queue_(delivery_queue),
        last_message_(last_message),
        attachments_(std::move(attachments)) {}

  agent::Agent& agent() { return agent_; }
  DeliveryQueue& delivery_queue() { return delivery_queue_; }
  const AttachmentRules& attachments() const { return attachments_; }

  // Why the server cannot be called now, as a sentence that contains what to do; empty: it can be. Waits a while for an
  // agent that has just been started.
  std::string connection_problem();

  // The name of another agent; empty when it is not known. Asks the server once for each agent.
  std::string name_of(Call& call, const std::string& workspace);

  // A client for the length of one call; a cancellation of the call ends its requests.
  class ClientLease {
   public:
    ClientLease(ToolContext& context, Call& call);
    ~ClientLease();
    agent::ApiClient& operator*() { return *api_; }
    agent::ApiClient* operator->() { return api_.get(); }

   private:
    ToolContext& context_;
    Call& call_;
    std::unique_ptr<agent::ApiClient> api_;
  };

 private:
  std::unique_ptr<agent::ApiClient> borrow();

  agent::Agent& agent_;
  DeliveryQueue& delivery_queue_;
  const LastMessage& last_message_;
  const AttachmentRules attachments_;
  Mutex mutex_;
  std::vector<std::unique_ptr<agent::ApiClient>> idle_ RESTANTE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> names_ RESTANTE_GUARDED_BY(mutex_);  // of other agents, by id
};

// A failed request as an answer: the server's sentence, and what to do.
ToolResult failure(const client::Failure& failed);

}  // namespace restante::mcp
