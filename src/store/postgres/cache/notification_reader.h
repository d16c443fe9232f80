// NotificationReader is the session that receives the notifications of other servers, and reads the database's clock.
// It passes notifications to the read cache and to Announcements, and sends the events that Announcements gives it.
// When the session is lost, it reports this to the subscriber, reconnects with growing pauses and reports that, too;
// until then no notifications arrive. While the read cache is in use, it often confirms that the session works and is
// on the primary, because the cache is trusted only for a short time after each confirmation. A session on another
// server counts as lost. Has its own thread; the destructor ends it.
#pragma once
#include <atomic>
#include <deque>
#include <string>
#include <thread>

#include "base/disciplined_clock.h"
#include "base/fd.h"
#include "base/mutex.h"
#include "store/announcements.h"
#include "store/postgres/cache/read_cache.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/connections/primary.h"

namespace restante::postgres {

class NotificationReader {
 public:
  // `announcements` and `clock` may be null. All arguments live longer than this. Throws OpenRefused when notifications
  // of another session do not arrive, as behind a pgbouncer that shares sessions.
  NotificationReader(ConnectionOptions endpoint, Uuid instance, ReadCache& read_cache, Primary& primary,
                     Announcements* announcements, DisciplinedClock* clock);
  ~NotificationReader();
  NotificationReader(const NotificationReader&) = delete;
  NotificationReader& operator=(const NotificationReader&) = delete;

 private:
  void work();
  // Waits so long for a move that has the database for itself.
  void connect(std::chrono::milliseconds patience);
  void require_notifications();
  void reconnect();
  // Returns when stopping; throws when the session is lost.
  void read_notifications();
  void apply_notifications(const std::vector<std::pair<std::string, std::string>>& received);
  // Asks whether the session is on the primary. All notifications from before arrive with the answer.
  void confirm_connection();
  // Trusts the read cache, unless the primary has changed or was in doubt since this generation.
  void trust_since(std::chrono::steady_clock::time_point asked, std::uint64_t generation);
  void send_queued();
  void announce_interest();
  void enqueue(const TransientEvent& event);

  const ConnectionOptions endpoint_;
  const Uuid instance_;
  ReadCache& read_cache_;
  Primary& primary_;
  Announcements* const announcements_;
  DisciplinedClock* const clock_;
  std::unique_ptr<Connection> connection_;
  std::atomic<bool> receives_{false};  // notifications arrive
  std::chrono::steady_clock::time_point next_time_{};
  std::chrono::steady_clock::time_point next_trust_{};
  std::chrono::steady_clock::time_point next_interest_{};
  std::atomic<std::chrono::steady_clock::time_point> interest_until_{};

  const Fd wake_;
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  std::deque<std::string> waiting_ RESTANTE_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Reads the database's time and sets the clock by it.
void discipline(Connection& connection, DisciplinedClock& clock);

}  // namespace restante::postgres
