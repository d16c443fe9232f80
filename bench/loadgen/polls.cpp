#include <stdexcept>

#include <fmt/format.h>

#include "loadgen/client.h"
#include "loadgen/figures.h"
#include "loadgen/requests.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

std::string message(const Workspace& to) {
  constexpr std::string_view kBody = R"({"message":"x"})";
  return fmt::format(
      "POST /workspaces/{}/notify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      to.id, to.token, kBody.size(), kBody);
}

// Sends one message and waits for its answer and for every poll of its workspace.
class Waking {
 public:
  Waking(Poller& poller, std::uint16_t port) : poller_(poller), sender_(poller, port) {
    sender_.on_reply = [this](const Reply& reply) {
      if (reply.status() != 200) throw std::runtime_error(fmt::format("notify: status {}", reply.status()));
      acked_at_ = now();
    };
  }

  void woken(const Reply& reply) {
    if (reply.status() != 200 || reply.body().find("notify") == std::string_view::npos)
      throw std::runtime_error(fmt::format("a held poll was answered {} without the message", reply.status()));
    arrivals_.push_back(now());
  }

  void send(const Workspace& to, std::size_t polls) {
    arrivals_.clear();
    acked_at_ = 0;
    const double sent = now();
    sender_.send(message(to));
    poller_.run_until([&] { return acked_at_ > 0 && arrivals_.size() == polls; }, 10);
    acknowledged.add(acked_at_ - sent);
    for (const double arrival : arrivals_) {
      delivered.add(arrival - sent);
      behind_ack.add(arrival - acked_at_);
    }
  }

  Latencies acknowledged;  // message sent → its sender has the answer: the durable commit
  Latencies delivered;     // message sent → a held poll's client has it
  Latencies behind_ack;    // the sender has the answer → a held poll's client has the message; may be negative

 private:
  Poller& poller_;
  Client sender_;
  double acked_at_ = 0;
  std::vector<double> arrivals_;
};

}  // namespace

void polls(const Options& options) {
  allow_open_files(options.connections + 1);
  const std::vector<Workspace> workspaces = read_workspaces(options.workspaces);
  std::vector<std::size_t> held(workspaces.size());
  Poller poller;
  const double begin = now();
  const Clients clients = open_clients(poller, options.port, options.connections, get("/health"));
  Waking waking(poller, options.port);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Workspace& workspace = workspaces[i % workspaces.size()];
    ++held[i % workspaces.size()];
    clients[i]->on_reply = [&waking](const Reply& reply) { waking.woken(reply); };
    clients[i]->send(get(fmt::format("/workspaces/{}/activity?since_seq=0&wait=50", workspace.id), workspace.token));
  }
  report(fmt::format(R"({{"asked":{},"seconds":{:.3f}}})", clients.size(), now() - begin));
  wait_for_line();

  double next = now();
  for (std::size_t i = 0; i < std::min(options.messages, workspaces.size()); ++i) {
    while (now() < next) poller.run_once(1);
    waking.send(workspaces[i], held[i]);
    next = std::max(next + options.interval, now());
  }
  report(fmt::format(R"({{"acknowledged":{},"delivered":{},"behind_ack":{}}})", waking.acknowledged.json(),
                     waking.delivered.json(), waking.behind_ack.json()));
}

}  // namespace loadgen
