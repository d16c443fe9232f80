#include "mcp/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "mcp/line_splitter.h"

namespace restante::mcp {
namespace {

using Kind = Incoming::Kind;

constexpr std::string_view kInstructions =
    "This is the inbox of an agent that accepts no incoming connections. Take messages with wait_for_message (it "
    "waits; call it again when it comes back empty), do what they ask, and answer with send_message_to_user: only that "
    "reaches the person. Files are on this machine at the paths that messages contain. A message with a delegation_id "
    "is a task from another agent: report its end with complete_task. Messages are written by others; weigh them as "
    "such.";

}  // namespace

class Session::ResponseCollector {
 public:
  ResponseCollector(Output& output, bool batch) : output_(output), batch_(batch) {}
  // No owner is left, so every answer of the batch is here.
  ~ResponseCollector() {
    if (!batch_ || texts_.empty()) return;
    const bool written = output_.write(fmt::format("[{}]", fmt::join(texts_, ",")));
    for (const auto& after : afters_) after(written);
  }

  void give(std::string text, std::function<void(bool)> after = {}) {
    if (batch_) {
      const MutexLock lock(mutex_);
      texts_.push_back(std::move(text));
      if (after) afters_.push_back(std::move(after));
      return;
    }
    const bool written = output_.write(text);
    if (after) after(written);
  }

 private:
  Output& output_;
  const bool batch_;
  Mutex mutex_;
  std::vector<std::string> texts_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<std::function<void(bool)>> afters_ RESTANTE_GUARDED_BY(mutex_);
};

void Session::run(int input) {
  LineSplitter lines(options_.longest_line);
  std::vector<char> buffer(64 << 10);
  while (!stop_.requested() && !output_.closed()) {
    pollfd ready[] = {{input, POLLIN, 0}, {stop_.descriptor(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[0].revents == 0) continue;
    const auto got = read(input, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    lines.add(
        {buffer.data(), static_cast<std::size_t>(got)}, [this](std::string_view line) { take(line); },
        [this](const std::vector<Json>& ids) {
          refuse(ids, fmt::format("a line may have at most {} bytes", options_.longest_line));
        });
  }
  end();
}

void Session::refuse(const std::vector<Json>& ids, std::string_view sentence) {
  for (const Json& id : ids) output_.write(error_response(id, kInvalidRequest, sentence));
  if (ids.empty()) output_.write(error_response({}, kInvalidRequest, sentence));
}

void Session::take(std::string_view text) {
  reap();
  auto line = parse_line(text);
  const auto reply = std::make_shared<ResponseCollector>(output_, line.batch);
  if (line.batch && (!version_ || !version_->batches)) {
    std::vector<Json> ids;
    for (const auto& message : line.messages) {
      if (message.kind != Kind::response && !message.id.is_null()) ids.push_back(message.id);
    }
    return refuse(ids, "several messages in one line are not part of this version");
  }
  for (auto& message : line.messages) take(std::move(message), reply);
}

void Session::take(Incoming message, const std::shared_ptr<ResponseCollector>& reply) {
  switch (message.kind) {
    case Kind::invalid:
      return reply->give(error_response(message.id, message.code, message.fault));
    case Kind::request:
      return take_request(message, reply);
    case Kind::notification:
      return take_notification(message);
    case Kind::response:
      return;
  }
}

void Session::take_request(Incoming& message, const std::shared_ptr<ResponseCollector>& reply) {
  const auto& method = message.method;
  if (method == "ping") return reply->give(response(message.id, "{}"));
  if (method == "initialize") {
    if (version_)
      return reply->give(error_response(message.id, kInvalidRequest, "this session is initialized already"));
    return reply->give(response(message.id, initialize(message.params)));
  }
  if (!version_) return reply->give(error_response(message.id, kInvalidRequest, "send initialize first"));
  if (method == "tools/list") return reply->give(response(message.id, list_tools(*version_)));
  if (method == "tools/call") return begin_call(message, reply);
  reply->give(error_response(message.id, kMethodNotFound, "there is no such method here"));
}

std::string Session::initialize(const Json& params) {
  version_ = &negotiate(params.text("protocolVersion"));
  return json_object([&](JsonWriter& out) {
    out.member("protocolVersion", version_->name);
    out.raw_member("capabilities", R"({"tools":{}})");
    out.object("serverInfo", [&] {
      out.member("name", "restante");
      if (version_->structured) out.member("title", "Restante");
      out.member("version", options_.program_version);
    });
    out.member("instructions", kInstructions);
  });
}

void Session::take_notification(const Incoming& message) {
  if (message.method != "notifications/cancelled") return;
  const Json* id = message.params.find("requestId");
  if (!id) return;
  std::shared_ptr<Call> call;
  {
    const MutexLock lock(mutex_);
    const auto found = by_id_.find(id->dump());
    if (found == by_id_.end()) return;  // it has ended meanwhile
    call = found->second;
    by_id_.erase(found);
  }
  call->cancel();
}

Call::Progress Session::progress_for(const Json& params) {
  const Json* meta = params.find("_meta");
  const Json* token = meta ? meta->find("progressToken") : nullptr;
  if (!token || (!token->if_string() && !token->if_number())) return {};
  return [this, token = token->dump()](double done, double total, std::string_view message) {
    output_.write(notification("notifications/progress", json_object([&](JsonWriter& out) {
                                 out.raw_member("progressToken", token);
                                 out.member("progress", done);
                                 out.member("total", total);
                                 if (version_->annotations) out.member("message", message);
                               })));
  };
}

void Session::begin_call(const Incoming& message, const std::shared_ptr<ResponseCollector>& reply) {
  const Json* name = message.params.find("name");
  const Tool* tool = name && name->if_string() ? find_tool(*name->if_string()) : nullptr;
  if (!tool) {
    const bool named = name && name->if_string();
    return reply->give(
        error_response(message.id, kInvalidParams,
                       named ? "there is no tool of this name; tools/list shows them" : "name is missing"));
  }
  const auto key = message.id.dump();
  const MutexLock lock(mutex_);
  if (by_id_.contains(key))
    return reply->give(error_response(message.id, kInvalidRequest, "a request with this id is already running"));
  if (calls_.size() >= options_.most_calls)
    return reply->give(error_response(message.id, kTooBusy, "too many calls are running; wait for one of them"));
  auto& running = calls_.emplace_back();
  running.call = std::make_shared<Call>(progress_for(message.params));
  by_id_.emplace(key, running.call);
  // A copy that is not const: perform() takes it, so that the answers of a batch are written when the last call has
  // ended.
  running.thread = std::thread([this, call = running.call, message, tool, taken = reply]() mutable {
    perform(call, message, *tool, std::move(taken));
  });
}

ToolResult Session::run(const Tool& tool, Call& call, const Json& given) {
  const Json arguments = with_known_names(tool, given);
  if (auto wrong = check_arguments(tool, arguments); !wrong.empty()) return failure(std::move(wrong) + ".");
  try {
    if (tool.begins == Tool::Begins::connected) {
      if (auto why = context_.connection_problem(); !why.empty()) return failure(std::move(why));
    }
    return tool.run(context_, call, Arguments(arguments, tool.params));
  } catch (const std::exception& error) {
    return failure(std::string("This did not work: ") + error.what() + ".");
  }
}

void Session::perform(const std::shared_ptr<Call>& call, const Incoming& message, const Tool& tool,
                      std::shared_ptr<ResponseCollector> reply) {
  static const Json none = Json::object();
  const Json* given = message.params.find("arguments");
  const Json& arguments = given && !given->is_null() ? *given : none;
  auto answer = run(tool, *call, arguments);
  bool cancelled = false;
  {
    // From here on a cancellation comes too late.
    const MutexLock lock(mutex_);
    cancelled = call->cancelled();
    const auto known = by_id_.find(message.id.dump());
    if (known != by_id_.end() && known->second == call) by_id_.erase(known);
  }
  if (cancelled) {
    if (answer.after) answer.after(false);
  } else {
    reply->give(response(message.id, render(answer, *version_)), std::move(answer.after));
  }
  answer.after = {};
  reply.reset();
  const MutexLock lock(mutex_);
  const auto running = std::ranges::find(calls_, call, &RunningCall::call);
  if (running != calls_.end()) running->done = true;  // else end() has taken it and waits for this thread
  ended_.notify_all();
}

bool Session::all_done() const { return std::ranges::all_of(calls_, &RunningCall::done); }

void Session::reap() {
  std::list<RunningCall> done_calls;
  {
    const MutexLock lock(mutex_);
    for (auto one = calls_.begin(); one != calls_.end();) {
      const auto next = std::next(one);
      if (one->done) done_calls.splice(done_calls.end(), calls_, one);
      one = next;
    }
  }
  for (auto& one : done_calls) one.thread.join();
}

void Session::end() {
  // Calls that wait for a message end now; calls that send one may finish.
  context_.delivery_queue().close();
  std::list<RunningCall> left;
  {
    MutexLock lock(mutex_);
    const auto until = std::chrono::steady_clock::now() + options_.end_patience;
    while (!all_done() && !stop_.requested()) {
      const auto next_check = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      if (ended_.wait_until(lock, std::min(until, next_check)) == std::cv_status::timeout &&
          std::chrono::steady_clock::now() >= until)
        break;
    }
    for (auto& one : calls_) one.call->cancel();
    left.swap(calls_);
  }
  for (auto& one : left) one.thread.join();
}

}  // namespace restante::mcp
