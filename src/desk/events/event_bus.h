// EventBus passes live events of this server to its streams. For an appended inbox row it rings the workspace's topic
// and remembers only the seq; a stream reads the row from the inbox. An event that is not a row (fetched, online,
// silent) is published once and never stored. The last few thousand events are remembered for slow subscribers;
// Page::missed is set for a subscriber that falls further behind. Thread-safe. Publishing never blocks and costs almost
// nothing while there is no subscriber. Publish from Commit::then, so that only durable changes are published.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bell.h"
#include "base/mutex.h"
#include "model/inbox_row.h"
#include "model/principal.h"
#include "store/announcements.h"
#include "store/store.h"

namespace restante::desk {

struct LiveEvent {
  std::uint64_t number = 0;
  WorkspaceId workspace;
  std::string name;      // "UPLOAD_FETCHED"; empty for an inbox row
  std::string data;      // a JSON object; empty for an inbox row
  std::int64_t seq = 0;  // of the inbox row; 0: it is none
};

class EventBus {
 public:
  // Events that are not stored are sent to other servers through `announcements`.
  explicit EventBus(Bell& bell, Announcements* announcements = nullptr) : bell_(bell), announcements_(announcements) {}

  // A row was appended to a workspace's inbox.
  void appended(WorkspaceId workspace, const Appended& at);
  // An event that is not an inbox row. `data` is a JSON object.
  void publish(WorkspaceId workspace, std::string_view name, std::string data);
  // Something in the workspace has changed; held polls read again.
  void changed(WorkspaceId workspace);
  // Like publish(), for an event from another server.
  void publish_remote(TransientEvent event);
  // Announcements of other servers may be lost: every subscriber gets Page::missed.
  void missed();
  bool has_subscribers() const { return *subscribers_ != 0; }

  // While at least one of these exists, events are remembered.
  class EventSubscription {
   public:
    explicit EventSubscription(EventBus& event_bus) : subscribers_(event_bus.subscribers_) { ++*subscribers_; }
    ~EventSubscription() { --*subscribers_; }
    EventSubscription(const EventSubscription&) = delete;
    EventSubscription& operator=(const EventSubscription&) = delete;

   private:
    std::shared_ptr<std::atomic<int>> subscribers_;  // a stream may end after the EventBus
  };
  struct Page {
    std::vector<LiveEvent> items;
    std::uint64_t last = 0;  // the number to continue from
    bool missed = false;     // older events are forgotten: read everything again
    bool more = false;       // there are more than `most`
  };
  std::uint64_t last() const;
  // At most `most` events after `number`, of one workspace or of all.
  Page since(std::uint64_t number, std::optional<WorkspaceId> only, std::size_t most = 100) const;

 private:
  void remember(LiveEvent item);

  Bell& bell_;
  Announcements* const announcements_;
  std::shared_ptr<std::atomic<int>> subscribers_ = std::make_shared<std::atomic<int>>(0);
  mutable Mutex mutex_;  // the writer thread and pool threads write, pool threads read
  std::deque<LiveEvent> recent_ RESTANTE_GUARDED_BY(mutex_);  // numbers without gaps
  std::uint64_t last_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

// --- All topics that ring
// A row was appended to this workspace's inbox, or the workspace has changed.
std::string topic_of(WorkspaceId workspace);
// An event of this workspace that is not an inbox row.
std::string live_topic_of(WorkspaceId workspace);
// Every event.
inline constexpr std::string_view kAllEventsTopic = "all events";
// This token was revoked.
std::string topic_of(TokenId token);
// The operator's token was replaced.
inline constexpr std::string_view kAdminTopic = "admin";
// This principal's token may have been revoked. Everything it holds open waits on these.
std::vector<std::string> revocation_topics(const Principal& principal);

}  // namespace restante::desk
