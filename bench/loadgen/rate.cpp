#include <exception>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "loadgen/client.h"
#include "loadgen/figures.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

// One thread's share of the connections. Counts only requests that complete inside the measured time.
class Worker {
 public:
  Worker(const Options& options, std::size_t connections) : options_(options), request_(get(options.path)) {
    clients_ = open_clients(poller_, options.port, connections, request_);
    for (auto& client : clients_) {
      asked_.emplace_back();
      client->on_reply = [this, &one = *client, index = asked_.size() - 1](const Reply& reply) {
        replied(one, index, reply);
      };
    }
  }

  void run(double start, double end) {
    start_ = start;
    end_ = end;
    const double begin = now();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      asked_[i] = begin;
      for (std::size_t k = 0; k < options_.pipeline; ++k) clients_[i]->send(request_);
    }
    while (now() < end) poller_.run_once(10);
  }

  Latencies latencies;
  std::size_t requests = 0;

 private:
  void replied(Client& client, std::size_t index, const Reply& reply) {
    if (reply.status() != 200) throw std::runtime_error(fmt::format("status {}", reply.status()));
    if (!options_.expect.empty() && reply.body() != options_.expect)
      throw std::runtime_error("another body than expected");
    const double time = now();
    const bool inside = time >= start_ && time < end_;
    if (inside) ++requests;
    if (++in_batch_[index] < options_.pipeline) return;
    // Pipelined requests are sent as one write, after the last answer of the previous batch.
    in_batch_[index] = 0;
    if (inside) latencies.add(time - asked_[index]);
    asked_[index] = time;
    client.send(batch_);
  }

  static std::string repeat(const std::string& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
  }

  const Options& options_;
  std::string request_;
  std::string batch_ = repeat(request_, options_.pipeline);
  Poller poller_;
  Clients clients_;
  std::vector<double> asked_;  // when the current batch was sent, per connection
  std::vector<std::size_t> in_batch_ = std::vector<std::size_t>(options_.connections);
  double start_ = 0;
  double end_ = 0;
};

}  // namespace

void rate(const Options& options) {
  allow_open_files(options.connections);
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < options.threads; ++i) {
    const std::size_t share =
        options.connections / options.threads + (i < options.connections % options.threads ? 1 : 0);
    workers.push_back(std::make_unique<Worker>(options, share));
  }
  const double start = now() + options.warmup;
  const double end = start + options.seconds;
  std::vector<std::exception_ptr> failures(options.threads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      try {
        workers[i]->run(start, end);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  const auto sleep_until = [](double time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time - now()));
  };
  sleep_until(start);
  const Cpu before = Cpu::read(options.servers);
  sleep_until(end);
  const Cpu cpu = Cpu::read(options.servers) - before;
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  Latencies latencies;
  std::size_t requests = 0;
  for (const auto& worker : workers) {
    latencies.add(worker->latencies);
    requests += worker->requests;
  }
  report(fmt::format(
      R"({{"requests":{},"seconds":{:.6f},"cpu_server":{:.3f},"cpu_loadgen":{:.3f},"cpu_machine":{:.3f},"latency":{}}})",
      requests, options.seconds, cpu.servers, cpu.own, cpu.machine, latencies.json()));
}

}  // namespace loadgen
