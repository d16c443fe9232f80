// OtherServers receives the announcements of other servers on the same database. It wakes held polls and streams, and
// ends what a revoked token holds open. While announcements cannot be received, held polls are answered empty, since
// nothing would wake them. After a reconnect `read_again` is called, and all held polls and streams read again. Called
// on the store's thread.
#pragma once
#include <functional>

#include "base/bell.h"
#include "base/log.h"
#include "desk/events/event_bus.h"
#include "store/announcements.h"

namespace restante::desk {

class OtherServers final : public Announcements::Subscriber {
 public:
  // Subscribes until it is destroyed.
  OtherServers(Announcements& announcements, EventBus& event_bus, Bell& bell, Log& log,
               std::function<void()> read_again = {});
  ~OtherServers() override;
  OtherServers(const OtherServers&) = delete;
  OtherServers& operator=(const OtherServers&) = delete;

  void appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) override;
  void changed(WorkspaceId workspace) override { event_bus_.changed(workspace); }
  void revoked(TokenId token) override;
  void publish(TransientEvent event) override { event_bus_.publish_remote(std::move(event)); }
  bool wants_events() override { return event_bus_.has_subscribers(); }
  void disconnected() override;
  void reconnected() override;

 private:
  Announcements& announcements_;
  EventBus& event_bus_;
  Bell& bell_;
  Log& log_;
  const std::function<void()> read_again_;
};

}  // namespace restante::desk
