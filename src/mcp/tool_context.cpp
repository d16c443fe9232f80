#include "mcp/tool_context.h"

namespace restante::mcp {
namespace {

using client::Failure;

constexpr std::chrono::seconds kStartPatience{20};
constexpr std::size_t kMostIdle = 4;

}  // namespace

std::string ToolContext::connection_problem() {
  const auto status = agent_.wait_until_caught_up(kStartPatience);
  if (status.end) {
    return "This agent is not connected and will not be without help: " + last_message_.last() +
           ". Notify the person who runs it; then restart this MCP server.";
  }
  if (status.caught_up) return {};
  return "The Restante server is not reached yet" + (status.trouble.empty() ? "" : ": " + status.trouble) +
         ". It is tried again by itself; call this tool again in a little while.";
}

std::unique_ptr<agent::ApiClient> ToolContext::borrow() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto api = std::move(idle_.back());
      idle_.pop_back();
      return api;
    }
  }
  return agent_.open_client();
}

std::string ToolContext::name_of(Call& call, const std::string& workspace) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = names_.find(workspace); found != names_.end()) return found->second;
  }
  ClientLease api(*this, call);
  const auto peers = api->peers();
  if (peers.has_error()) return {};
  const MutexLock lock(mutex_);
  for (const Json& peer : *peers) names_[peer.text("id")] = peer.text("name");
  return names_[workspace];
}

ToolContext::ClientLease::ClientLease(ToolContext& context, Call& call)
    : context_(context), call_(call), api_(context.borrow()) {
  call_.when_cancelled([this] { api_->cancel(); });
}

ToolContext::ClientLease::~ClientLease() {
  call_.when_cancelled({});
  if (call_.cancelled()) return;  // a cancelled client cannot be used again
  const MutexLock lock(context_.mutex_);
  if (context_.idle_.size() < kMostIdle) context_.idle_.push_back(std::move(api_));
}

ToolResult failure(const Failure& failed) {
  if (failed.is_status(401))
    return failure("The server does not take this agent's token (" + failed.sentence +
                   "). Notify the person who runs it: `restante invite` creates a new one.");
  if (failed.passes()) return failure(failed.sentence + ". This may pass: call the tool again in a little while.");
  return failure(failed.sentence + ".");
}

}  // namespace restante::mcp
