// Office: what the tools work with: the agent that runs beside them, the counter where its deliveries wait, and
// connections to the server, kept alive from one call to the next. Thread-safe.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "mcp/call.h"
#include "mcp/delivery_queue.h"
#include "mcp/tool.h"

namespace restante::mcp {

// What the agent said last: the reason, when it has given up. Thread-safe.
class LastMessage {
 public:
  void note(std::string_view said) {
    const std::lock_guard lock(mutex_);
    last_ = said;
  }
  std::string last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  mutable std::mutex mutex_;
  std::string last_;
};

class ToolContext {
 public:
  ToolContext(agent::Agent& agent, DeliveryQueue& delivery_queue, const LastMessage& last_message)
      : agent_(agent), delivery_queue_(delivery_queue), last_message_(last_message) {}

  agent::Agent& agent() { return agent_; }
  DeliveryQueue& delivery_queue() { return delivery_queue_; }

  // Why there is no talking to the server now, as a sentence that says what to do; empty: nothing is in the way. Waits
  // a while for an agent that has just been started.
  std::string connection_problem();

  // A connection for the length of one call, which a cancellation ends.
  class ClientLease {
   public:
    ClientLease(ToolContext& context, Call& call);
    ~ClientLease();
    ClientLease(const ClientLease&) = delete;
    ClientLease& operator=(const ClientLease&) = delete;
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
  std::mutex mutex_;  // what calls share
  std::vector<std::unique_ptr<agent::ApiClient>> idle_;
};

// A call that failed, as an answer: the server's own sentence, and what to do.
ToolResult failure(const client::Failure& failed);

}  // namespace restante::mcp
