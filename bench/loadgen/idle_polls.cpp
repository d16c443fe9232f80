// Agents that poll again and again and find nothing, as most polls do.
#include <stdexcept>

#include <fmt/format.h>

#include "loadgen/loop.h"
#include "loadgen/requests.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

constexpr std::size_t kTinyFile = 64;

// A next() that calls `send` once for each connection.
Loop::Next once_each(std::vector<bool>& asked, const std::function<void(Client&, std::size_t)>& send) {
  return [&asked, send](Client& client, std::size_t index) {
    if (asked[index]) return false;
    asked[index] = true;
    send(client, index);
    return true;
  };
}

// A cursor needs a row to start from: every inbox gets one.
std::vector<std::string> make_cursors(Loop& loop, const std::vector<Workspace>& workspaces) {
  const Content content(kTinyFile);
  std::vector<std::string> cursors(loop.size());
  std::vector<bool> uploaded(loop.size());
  std::vector<bool> polled(loop.size());
  const auto upload = [&](Client& client, std::size_t index) {
    send_upload(client, workspaces[index], content, kTinyFile);
  };
  const auto poll = [&](Client& client, std::size_t index) { send_poll(client, workspaces[index], {}); };
  loop.run(once_each(uploaded, upload),
           [](const Reply& reply, std::size_t, double) { require_status(reply, 200, "upload"); });
  loop.run(once_each(polled, poll), [&](const Reply& reply, std::size_t index, double) {
    require_status(reply, 200, "poll");
    cursors[index] = last_id_in(reply.body());
  });
  return cursors;
}

}  // namespace

void idle_polls(const Options& options) {
  const std::vector<Workspace> workspaces = read_workspaces(options.workspaces);
  if (workspaces.size() < options.connections) throw std::runtime_error("each connection needs its own workspace");
  Loop loop(options);
  const std::vector<std::string> cursors = make_cursors(loop, workspaces);
  Latencies latencies;
  std::size_t polls = 0;
  const auto run = [&](const std::function<bool()>& more) {
    const auto next = [&](Client& client, std::size_t index) {
      if (!more()) return false;
      send_poll(client, workspaces[index], cursors[index]);
      return true;
    };
    return loop.run(next, [&](const Reply& reply, std::size_t, double seconds) {
      require_status(reply, 200, "poll");
      if (reply.body() != "[]") throw std::runtime_error(fmt::format("an inbox is not empty: {:.300}", reply.body()));
      latencies.add(seconds);
      ++polls;
    });
  };
  run(for_seconds(options.warmup));
  latencies = Latencies();
  polls = 0;
  const auto spent = run(for_seconds(options.seconds));
  report_run(polls, 0, spent, latencies);
}

}  // namespace loadgen
