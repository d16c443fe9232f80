// Uploads files: to measure how fast the server accepts them, or to prepare files for fetch.
#include <fstream>

#include <fmt/format.h>

#include "loadgen/loop.h"
#include "loadgen/requests.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

// The destination of the files of one run. Files go into one workspace after the other, as from many senders.
class Senders {
 public:
  explicit Senders(const Options& options) : options_(options), content_(options.size), sent_(options.connections) {
    if (options.workspaces.empty()) return;
    workspaces_ = read_workspaces(options.workspaces);
  }

  void send(Client& client, std::size_t index) {
    if (workspaces_.empty()) {
      sent_[index] = send_put(client, options_.path, content_, options_.size);
    } else {
      send_upload(client, workspace(index), content_, options_.size);
    }
  }

  // "path token" of the accepted files, as fetch reads it.
  std::string taken(const Reply& reply, std::size_t index) {
    if (!workspaces_.empty()) {
      require_status(reply, 200, "upload");
      return content_path(workspace(index), file_id_in(reply.body())) + " " + workspace(index).token;
    }
    require_status(reply, 201, "PUT");
    return sent_[index] + " -";
  }

 private:
  const Workspace& workspace(std::size_t index) const { return workspaces_[index % workspaces_.size()]; }

  const Options& options_;
  Content content_;
  std::vector<Workspace> workspaces_;
  std::vector<std::string> sent_;
};

}  // namespace

void upload(const Options& options) {
  Senders senders(options);
  Loop loop(options);
  Latencies latencies;
  std::size_t files = 0;
  const auto run = [&](const std::function<bool()>& more) {
    const auto next = [&](Client& client, std::size_t index) {
      if (!more()) return false;
      senders.send(client, index);
      return true;
    };
    return loop.run(next, [&](const Reply& reply, std::size_t index, double seconds) {
      senders.taken(reply, index);
      latencies.add(seconds);
      ++files;
    });
  };
  if (options.warmup > 0) run(for_seconds(options.warmup));
  latencies = Latencies();
  files = 0;
  std::size_t left = options.files;
  Loop::Spent spent;
  if (options.until_line) {
    report(R"({"started":true})");
    spent = run([] { return !line_arrived(); });
  } else if (left > 0) {
    spent = run([&left] { return left > 0 && left-- > 0; });
  } else {
    spent = run(for_seconds(options.seconds));
  }
  report_run(files, files * options.size, spent, latencies);
}

void fill(const Options& options) {
  Senders senders(options);
  Loop loop(options);
  std::ofstream targets(options.targets);
  std::size_t left = options.files;
  const auto next = [&](Client& client, std::size_t index) {
    if (left == 0) return false;
    --left;
    senders.send(client, index);
    return true;
  };
  const auto spent = loop.run(
      next, [&](const Reply& reply, std::size_t index, double) { targets << senders.taken(reply, index) << '\n'; });
  report(fmt::format(R"({{"files":{},"seconds":{:.3f}}})", options.files, spent.seconds));
}

}  // namespace loadgen
