// Announcements: what servers on one database send each other. A shared store (PostgreSQL) passes on to the subscriber
// what other servers announce, and sends the events given to send(). With an embedded store nothing arrives and nothing
// is sent. The store itself announces what a transaction changed, with its COMMIT; send() is for events that are stored
// in no table. Thread-safe. An announcement is a hint, like the bell: it may be lost, and disconnected() reports when
// none will arrive for a while.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "model/ids.h"

namespace restante {

// An event of a workspace that is not stored in any table. `data` is a JSON object.
struct TransientEvent {
  WorkspaceId workspace;
  std::string name;
  std::string data;
};

class Announcements {
 public:
  // Receives announcements. Called on the store's thread: must be brief and must not throw.
  class Subscriber {
   public:
    virtual ~Subscriber() = default;
    // Rows were appended to the workspace's inbox, from seq `first` to `last`.
    virtual void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) = 0;
    // Something about the workspace has changed.
    virtual void changed(WorkspaceId workspace) = 0;
    virtual void revoked(TokenId token) = 0;
    virtual void publish(TransientEvent event) = 0;
    // Whether a client of this server wants the events of other servers.
    virtual bool wants_events() = 0;
    // From now on no announcement arrives.
    virtual void disconnected() = 0;
    // Announcements arrive again; those in between are lost.
    virtual void reconnected() = 0;
  };

  // At most one of each; null removes it. Waits until a running call has returned.
  void subscribe(Subscriber* subscriber) {
    const MutexLock lock(mutex_);
    subscriber_ = subscriber;
  }
  void set_sender(std::function<void(const TransientEvent&)> sender) {
    const MutexLock lock(sender_mutex_);
    sender_ = std::move(sender);
  }

  // Sends the event to the subscribers of other servers.
  void send(const TransientEvent& event) {
    const MutexLock lock(sender_mutex_);
    if (sender_) sender_(event);
  }
  // For the store: calls the subscriber, if there is one.
  template <class Call>
  void notify_subscriber(Call call) {
    const MutexLock lock(mutex_);
    if (subscriber_) call(*subscriber_);
  }

 private:
  Mutex mutex_;  // the store's thread may call while the server shuts down
  Subscriber* subscriber_ RESTANTE_GUARDED_BY(mutex_) = nullptr;
  Mutex sender_mutex_;
  std::function<void(const TransientEvent&)> sender_ RESTANTE_GUARDED_BY(sender_mutex_);
};

}  // namespace restante
