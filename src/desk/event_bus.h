// News: what has just happened, for whoever looks on live. A row of a log rings its workspace and is noted for those
// who watch, who read it from the log; what is no row (fetched, online, silent) is told once and kept nowhere. The last
// few thousand items are remembered for watchers that are slow; who falls further behind is told so. Thread-safe;
// telling never blocks, and costs next to nothing while nobody watches. Tell from Commit::then, so that nothing untrue
// is told.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bell.h"
#include "model/inbox_row.h"
#include "store/announcements.h"
#include "store/store.h"

namespace restante::desk {

struct LiveEvent {
  std::uint64_t number = 0;
  WorkspaceId workspace;
  std::string name;      // "UPLOAD_FETCHED"; empty for a row of the log
  std::string data;      // a JSON object; empty for a row of the log
  std::int64_t seq = 0;  // of the log's row; 0: it is none
};

class EventBus {
 public:
  // Other servers are told through `announcements` what is kept nowhere.
  explicit EventBus(Bell& bell, Announcements* announcements = nullptr) : bell_(bell), announcements_(announcements) {}

  // A row was appended to a workspace's log.
  void appended(WorkspaceId workspace, const Appended& at);
  // Something that is no row of a log. `data` is a JSON object.
  void publish(WorkspaceId workspace, std::string_view name, std::string data);
  // Something about the workspace is different; held polls look again.
  void changed(WorkspaceId workspace);
  // The same as happened(), on another server.
  void publish_remote(TransientEvent event);
  // Anything may have happened on other servers: whoever watches is told so.
  void missed();
  bool has_subscribers() const { return *subscribers_ != 0; }

  // While one of these lives, items are remembered.
  class EventSubscription {
   public:
    explicit EventSubscription(EventBus& event_bus) : subscribers_(event_bus.subscribers_) { ++*subscribers_; }
    ~EventSubscription() { --*subscribers_; }
    EventSubscription(const EventSubscription&) = delete;
    EventSubscription& operator=(const EventSubscription&) = delete;

   private:
    std::shared_ptr<std::atomic<int>> subscribers_;  // a stream may end after the desk has gone
  };
  struct Page {
    std::vector<LiveEvent> items;
    std::uint64_t last = 0;  // where to go on
    bool missed = false;     // older ones are forgotten: look at everything again
    bool more = false;       // there is more than was asked for
  };
  std::uint64_t last() const;
  // What came after that number, of one workspace or of all, at most so many.
  Page since(std::uint64_t number, std::optional<WorkspaceId> only, std::size_t most = 100) const;

 private:
  void remember(LiveEvent item);

  Bell& bell_;
  Announcements* const announcements_;
  std::shared_ptr<std::atomic<int>> subscribers_ = std::make_shared<std::atomic<int>>(0);
  mutable std::mutex mutex_;      // told on the writer's and on pool threads, read on pool threads
  std::deque<LiveEvent> recent_;  // under mutex_; numbers without gaps
  std::uint64_t last_ = 0;        // under mutex_
};

// Rings for what is no row of this workspace's log; rows ring topic_of(workspace).
std::string live_topic_of(WorkspaceId workspace);
// Rings for everything.
inline constexpr std::string_view kAllEventsTopic = "news";

}  // namespace restante::desk
