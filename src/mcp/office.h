// Office: what the tools work with: the agent that runs beside them, the counter where its deliveries wait, and
// connections to the server, kept alive from one call to the next. Thread-safe.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "mcp/call.h"
#include "mcp/counter.h"
#include "mcp/tool.h"

namespace restante::mcp {

// What the agent said last: the reason, when it has given up. Thread-safe.
class Words {
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

class Office {
 public:
  Office(agent::Agent& agent, Counter& counter, const Words& words) : agent_(agent), counter_(counter), words_(words) {}

  agent::Agent& agent() { return agent_; }
  Counter& counter() { return counter_; }

  // Why there is no talking to the server now, as a sentence that says what to do; empty: nothing is in the way. Waits
  // a while for an agent that has just been started.
  std::string hindrance();

  // A connection for the length of one call, which a cancellation ends.
  class Line {
   public:
    Line(Office& office, Call& call);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    agent::Platform& operator*() { return *platform_; }
    agent::Platform* operator->() { return platform_.get(); }

   private:
    Office& office_;
    Call& call_;
    std::unique_ptr<agent::Platform> platform_;
  };

 private:
  std::unique_ptr<agent::Platform> borrow();

  agent::Agent& agent_;
  Counter& counter_;
  const Words& words_;
  std::mutex mutex_;  // what calls share
  std::vector<std::unique_ptr<agent::Platform>> idle_;
};

// A call that failed, as an answer: the server's own sentence, and what to do.
Answer failure(const client::Failure& failed);

}  // namespace restante::mcp
