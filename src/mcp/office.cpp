#include "mcp/office.h"

namespace restante::mcp {
namespace {

using client::Failure;

constexpr std::chrono::seconds kStartPatience{20};
constexpr std::size_t kMostIdle = 4;

}  // namespace

std::string Office::hindrance() {
  const auto outlook = agent_.wait_until_caught_up(kStartPatience);
  if (outlook.end) {
    return "This agent is not connected and will not be without help: " + words_.last() +
           ". Tell the person who runs it; then restart this MCP server.";
  }
  if (outlook.caught_up) return {};
  return "The Restante server is not reached yet" + (outlook.trouble.empty() ? "" : ": " + outlook.trouble) +
         ". It is tried again by itself; call this tool again in a little while.";
}

std::unique_ptr<agent::Platform> Office::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto platform = std::move(idle_.back());
      idle_.pop_back();
      return platform;
    }
  }
  return agent_.open_line();
}

Office::Line::Line(Office& office, Call& call) : office_(office), call_(call), platform_(office.borrow()) {
  call_.when_cancelled([this] { platform_->cancel(); });
}

Office::Line::~Line() {
  call_.when_cancelled({});
  if (call_.cancelled()) return;  // it is of no use to anybody any more
  const std::lock_guard lock(office_.mutex_);
  if (office_.idle_.size() < kMostIdle) office_.idle_.push_back(std::move(platform_));
}

Answer failure(const Failure& failed) {
  if (failed.kind == Failure::Kind::status && failed.status == 401)
    return failure("The server does not take this agent's token (" + failed.sentence +
                   "). Tell the person who runs it: a new one is made with `restante invite`.");
  if (failed.passes()) return failure(failed.sentence + ". This may pass: call the tool again in a little while.");
  return failure(failed.sentence + ".");
}

}  // namespace restante::mcp
