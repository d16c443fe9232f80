#include "loadgen/loop.h"

#include <stdexcept>

#include <fmt/format.h>

namespace loadgen {
namespace {

constexpr double kPatience = 120;  // seconds for one answer; the slowest measured server takes a few

}  // namespace

Loop::Loop(const Options& options) : options_(options), asked_(options.connections) {
  clients_ = open_clients(poller_, options.port, options.connections, get("/health"));
}

void Loop::ask(const Next& next, std::size_t index) {
  asked_[index] = now();
  if (next(*clients_[index], index)) ++under_way_;
}

Loop::Spent Loop::run(const Next& next, const Done& done) {
  const Cpu before = Cpu::read(options_.servers);
  const double start = now();
  double last = start;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i]->on_reply = [&, i](const Reply& reply) {
      --under_way_;
      last = now();
      done(reply, i, last - asked_[i]);
      // After this reply is handled: resetting it must not reset the content that the next one is compared with.
      replied_.push_back(i);
    };
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) ask(next, i);
  while (under_way_ > 0) {
    poller_.run_once(100);
    for (const std::size_t index : replied_) ask(next, index);
    replied_.clear();
    if (now() - last > kPatience) throw std::runtime_error("the server does not answer any more");
  }
  for (auto& client : clients_) client->on_reply = nullptr;
  return {last - start, Cpu::read(options_.servers) - before};
}

std::function<bool()> for_seconds(double seconds) {
  return [end = now() + seconds] { return now() < end; };
}

void report_run(std::size_t requests, std::uint64_t bytes, const Loop::Spent& spent, Latencies& latencies) {
  report(fmt::format(
      R"({{"requests":{},"bytes":{},"seconds":{:.6f},"cpu_server":{:.3f},"cpu_loadgen":{:.3f},"cpu_machine":{:.3f},"latency":{}}})",
      requests, bytes, spent.seconds, spent.cpu.servers, spent.cpu.own, spent.cpu.machine, latencies.json()));
}

}  // namespace loadgen
