#include "desk/events/event_bus.h"

namespace restante::desk {
namespace {

constexpr std::size_t kRemembered = 4096;

}  // namespace

std::string topic_of(WorkspaceId workspace) { return "workspace:" + workspace.text(); }
std::string live_topic_of(WorkspaceId workspace) { return "live:" + workspace.text(); }
std::string topic_of(TokenId token) { return "token:" + token.text(); }

std::vector<std::string> revocation_topics(const Principal& principal) {
  std::vector<std::string> topics;
  if (principal.token_id) topics.push_back(topic_of(*principal.token_id));
  if (principal.opened_by) topics.push_back(topic_of(*principal.opened_by));
  if (principal.is_admin()) topics.emplace_back(kAdminTopic);
  return topics;
}

void EventBus::appended(WorkspaceId workspace, const Appended& at) {
  // Before the ring: a stream that it wakes finds the row in its order among the events.
  const bool watched = *subscribers_ != 0;
  if (watched) remember({0, workspace, {}, {}, at.seq});
  bell_.ring(topic_of(workspace));
  if (watched) bell_.ring(kAllEventsTopic);
}

void EventBus::publish(WorkspaceId workspace, std::string_view name, std::string data) {
  TransientEvent event{workspace, std::string(name), std::move(data)};
  if (announcements_) announcements_->send(event);
  publish_remote(std::move(event));
}

void EventBus::publish_remote(TransientEvent event) {
  if (!has_subscribers()) return;
  const WorkspaceId workspace = event.workspace;
  remember({0, workspace, std::move(event.name), std::move(event.data), 0});
  bell_.ring(live_topic_of(workspace));
  bell_.ring(kAllEventsTopic);
}

void EventBus::missed() {
  {
    const MutexLock lock(mutex_);
    recent_.clear();
    ++last_;
  }
  bell_.ring_all();
}

void EventBus::changed(WorkspaceId workspace) { bell_.ring(topic_of(workspace)); }

void EventBus::remember(LiveEvent item) {
  const MutexLock lock(mutex_);
  item.number = ++last_;
  recent_.push_back(std::move(item));
  if (recent_.size() > kRemembered) recent_.pop_front();
}

std::uint64_t EventBus::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

EventBus::Page EventBus::since(std::uint64_t number, std::optional<WorkspaceId> only, std::size_t most) const {
  const MutexLock lock(mutex_);
  Page page;
  page.last = last_;
  if (number >= last_) return page;
  const std::uint64_t first = recent_.empty() ? last_ + 1 : recent_.front().number;
  page.missed = number + 1 < first;
  for (auto at = recent_.begin() + static_cast<std::ptrdiff_t>(page.missed ? 0 : number + 1 - first);
       at != recent_.end(); ++at) {
    if (only && at->workspace != *only) continue;
    if (page.items.size() == most) {
      page.last = at->number - 1;
      page.more = true;
      break;
    }
    page.items.push_back(*at);
  }
  return page;
}

}  // namespace restante::desk
