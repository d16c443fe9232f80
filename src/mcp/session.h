// Session: one MCP client on stdin and stdout, from the first line to the last: handshake, parallel calls, their
// cancellation and progress. Every request gets exactly one answer, unless it was cancelled or the client has closed
// the connection. run() blocks until stdin ends or stop is requested; all its calls have ended when it returns.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "mcp/message.h"
#include "mcp/output.h"
#include "mcp/tool_context.h"

namespace restante::mcp {

struct SessionOptions {
  std::string program_version;
  std::size_t longest_line = 4 << 20;
  std::size_t most_calls = 64;                    // in parallel
  std::chrono::milliseconds end_patience{5'000};  // for running calls when stdin ends
};

class Session {
 public:
  Session(SessionOptions options, ToolContext& context, Output& output, agent::Stop& stop)
      : options_(std::move(options)), context_(context), output_(output), stop_(stop) {}
  ~Session() { end(); }

  void run(int input);

  // One line from the client. Public for tests.
  void take(std::string_view line);

 private:
  // Writes the answers to one line: at once, or for a batch all together when the last one is there.
  class ResponseCollector;
  struct RunningCall {
    std::shared_ptr<Call> call;
    std::thread thread;
    bool done = false;
  };

  // Answers with the error: to each of these requests, or to none in particular.
  void refuse(const std::vector<Json>& ids, std::string_view sentence);
  void take(Incoming message, const std::shared_ptr<ResponseCollector>& reply);
  void take_request(Incoming& message, const std::shared_ptr<ResponseCollector>& reply);
  void take_notification(const Incoming& message);
  std::string initialize(const Json& params);
  void begin_call(const Incoming& message, const std::shared_ptr<ResponseCollector>& reply);
  ToolResult run(const Tool& tool, Call& call, const Json& arguments);
  void perform(const std::shared_ptr<Call>& call, const Incoming& message, const Tool& tool,
               std::shared_ptr<ResponseCollector> reply);
  Call::Progress progress_for(const Json& params);
  bool all_done() const RESTANTE_REQUIRES(mutex_);
  void reap();
  void end();

  SessionOptions options_;
  ToolContext& context_;
  Output& output_;
  agent::Stop& stop_;
  const Version* version_ = nullptr;  // null: no handshake yet

  Mutex mutex_;  // each call ends on its own thread
  ConditionVariable ended_;
  std::list<RunningCall> calls_ RESTANTE_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Call>> by_id_ RESTANTE_GUARDED_BY(mutex_);  // the id as JSON
};

}  // namespace restante::mcp
