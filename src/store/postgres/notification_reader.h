// Listener: the session on which this server hears of the others, and is told the time. What is heard goes to
// Announcements; what they are given to tell is sent here. Losing the session is told, healed with growing patience,
// and told again: until then nothing is heard. Whether it is heard is asked often while the memory is in use, for the
// memory is trusted no longer than that is certain. A thread of its own; the destructor ends it.
#pragma once
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/disciplined_clock.h"
#include "store/announcements.h"
#include "store/postgres/connection.h"
#include "store/postgres/read_cache.h"

namespace restante::postgres {

class NotificationReader {
 public:
  // The last two may be null: then there is nothing to do for them. All live longer than this. Throws OpenRefused when
  // what another session announces is not heard, as behind a pgbouncer that shares sessions.
  NotificationReader(ConnectionOptions endpoint, Uuid instance, ReadCache& read_cache, Announcements* announcements,
                     DisciplinedClock* clock);
  ~NotificationReader();
  NotificationReader(const NotificationReader&) = delete;
  NotificationReader& operator=(const NotificationReader&) = delete;

 private:
  void work();
  void connect();
  void require_notifications();
  void reconnect();
  // Until the session is lost or the end has come.
  void read_notifications();
  void apply_notifications(const std::vector<std::pair<std::string, std::string>>& heard);
  // Asks anything: with the answer comes whatever was notified before.
  void confirm_connection();
  void send_queued();
  void announce_interest();
  void enqueue(const TransientEvent& event);

  const ConnectionOptions endpoint_;
  const Uuid instance_;
  ReadCache& read_cache_;
  Announcements* const announcements_;
  DisciplinedClock* const clock_;
  std::unique_ptr<Connection> connection_;
  std::atomic<bool> receives_{false};  // everything others do, at once
  std::chrono::steady_clock::time_point next_time_{};
  std::chrono::steady_clock::time_point next_trust_{};
  std::chrono::steady_clock::time_point next_look_{};
  std::atomic<std::chrono::steady_clock::time_point> interest_until_{};

  int wake_fd_ = -1;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::deque<std::string> waiting_;  // under mutex_
  std::thread thread_;
};

// Asks the database for its time and tells the clock.
void discipline(Connection& connection, DisciplinedClock& clock);

}  // namespace restante::postgres
