// The whole cycle of a file: a sender uploads it, the agent finds it in its inbox, fetches it and acks it.
#include <stdexcept>

#include <fmt/format.h>

#include "loadgen/loop.h"
#include "loadgen/requests.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

constexpr std::size_t kTinyFile = 64;
constexpr int kLooks = 200;  // a file that is not in the inbox after so many polls is lost

// One workspace and its connection, which is the sender's and the agent's alternately.
class CycleAgent {
 public:
  CycleAgent(Workspace workspace, const Content& content, std::size_t size)
      : workspace_(std::move(workspace)), content_(content), size_(size) {}

  // A cursor needs a row to start from: a new inbox gets one first.
  enum class Step { find_cursor, make_entry, upload, poll, fetch, ack };

  void send(Client& client) {
    switch (step_) {
      case Step::find_cursor:
        return send_poll(client, workspace_, {});
      case Step::make_entry:
        return send_upload(client, workspace_, content_, std::min(size_, kTinyFile));
      case Step::upload:
        return send_upload(client, workspace_, content_, size_);
      case Step::poll:
        return send_poll(client, workspace_, cursor_);
      case Step::fetch:
        return send_fetch(client, content_path(workspace_, file_), workspace_.token, content_, size_);
      case Step::ack:
        return send_ack(client, workspace_, file_);
    }
  }

  void take(const Reply& reply) {
    require_status(reply, 200, "cycle");
    switch (step_) {
      case Step::find_cursor:
        cursor_ = last_id_in(reply.body());
        step_ = cursor_.empty() ? Step::make_entry : Step::upload;
        break;
      case Step::make_entry:
        step_ = Step::find_cursor;
        break;
      case Step::upload:
        file_ = file_id_in(reply.body());
        looks_ = 0;
        step_ = Step::poll;
        break;
      case Step::poll:
        look(reply.body());
        break;
      case Step::fetch:
        step_ = Step::ack;
        break;
      case Step::ack:
        step_ = Step::upload;
        break;
    }
  }

  Step step() const { return step_; }
  double began = 0;

 private:
  void look(std::string_view page) {
    const bool found = page.find(file_) != std::string_view::npos;
    if (std::string last = last_id_in(page); !last.empty()) cursor_ = std::move(last);
    if (found) step_ = Step::fetch;
    if (!found && ++looks_ > kLooks) throw std::runtime_error(fmt::format("file {} is not in the inbox", file_));
  }

  Workspace workspace_;
  const Content& content_;
  std::size_t size_;
  Step step_ = Step::find_cursor;
  std::string cursor_;
  std::string file_;
  int looks_ = 0;
};

}  // namespace

void cycle(const Options& options) {
  const Content content(options.size);
  const std::vector<Workspace> workspaces = read_workspaces(options.workspaces);
  if (workspaces.size() < options.connections) throw std::runtime_error("each connection needs its own workspace");
  std::vector<CycleAgent> agents;
  for (std::size_t i = 0; i < options.connections; ++i) agents.emplace_back(workspaces[i], content, options.size);
  Loop loop(options);
  Latencies latencies;
  std::size_t cycles = 0;
  const auto run = [&](const std::function<bool()>& more) {
    const auto next = [&](Client& client, std::size_t index) {
      CycleAgent& agent = agents[index];
      if (agent.step() == CycleAgent::Step::upload) {
        if (!more()) return false;
        agent.began = now();
      }
      agent.send(client);
      return true;
    };
    return loop.run(next, [&](const Reply& reply, std::size_t index, double) {
      CycleAgent& agent = agents[index];
      const bool last = agent.step() == CycleAgent::Step::ack;
      agent.take(reply);
      if (!last) return;
      latencies.add(now() - agent.began);
      ++cycles;
    });
  };
  run(for_seconds(options.warmup));
  latencies = Latencies();
  cycles = 0;
  const auto spent = run(for_seconds(options.seconds));
  report_run(cycles, cycles * options.size, spent, latencies);
}

}  // namespace loadgen
