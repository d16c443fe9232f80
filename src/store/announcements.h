// Announcements: what servers that share their data tell each other. A store that is shared hands on here what others
// announce and sends what is told here; for an embedded one nothing ever comes and nothing is sent. What a transaction
// changed is announced by the store itself, with the COMMIT: tell() is for what is kept nowhere. Thread-safe. Hearing
// is a hint, like the bell: never the truth, and lost() says when there will be none for a while.
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "model/ids.h"

namespace restante {

// Something that happened to a workspace and is no row of any table. `data` is a JSON object.
struct TransientEvent {
  WorkspaceId workspace;
  std::string name;
  std::string data;
};

class Announcements {
 public:
  // Who listens. Called on the store's thread: brief, and it never throws.
  class Subscriber {
   public:
    virtual ~Subscriber() = default;
    // Rows of a workspace's log, from the first to the last.
    virtual void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) = 0;
    // Something about the workspace is different.
    virtual void changed(WorkspaceId workspace) = 0;
    virtual void revoked(TokenId token) = 0;
    virtual void publish(TransientEvent event) = 0;
    // Whether anybody here wants to hear what happens elsewhere.
    virtual bool wants_events() = 0;
    // From now on nothing is heard.
    virtual void disconnected() = 0;
    // It is heard again; anything may have happened meanwhile.
    virtual void reconnected() = 0;
  };

  // At most one of each; none again with null. Waits until a call that is under way has returned.
  void subscribe(Subscriber* subscriber);
  void set_sender(std::function<void(const TransientEvent&)> sender);

  // For whoever listens on other servers.
  void send(const TransientEvent& event);
  // For the store: what was heard.
  template <class Call>
  void notify_subscriber(Call call) {
    const std::lock_guard lock(mutex_);
    if (subscriber_) call(*subscriber_);
  }

 private:
  std::mutex mutex_;  // the store's thread calls while the server is taken down
  Subscriber* subscriber_ = nullptr;
  std::mutex sender_mutex_;
  std::function<void(const TransientEvent&)> sender_;
};

}  // namespace restante
