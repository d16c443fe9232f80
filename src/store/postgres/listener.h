// Listener: the session on which this server hears of the others, and is told the time. What is heard goes to
// Announcements; what they are given to tell is sent here. Losing the session is told, healed with growing patience,
// and told again: until then nothing is heard. A thread of its own; the destructor ends it.
#pragma once
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/disciplined_clock.h"
#include "store/announcements.h"
#include "store/postgres/connection.h"

namespace restante::postgres {

class Listener {
 public:
  // Both may be null: then there is nothing to do for them. They live longer than this.
  Listener(Endpoint endpoint, Uuid instance, Announcements* announcements, DisciplinedClock* clock);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Whether everything others do is heard at once.
  bool hears() const { return hears_; }

 private:
  void work();
  void connect();
  void heal();
  // Until the session is lost or the end has come.
  void attend();
  void send_what_waits();
  void look_on();
  void enqueue(const Happening& happening);

  const Endpoint endpoint_;
  const Uuid instance_;
  Announcements* const announcements_;
  DisciplinedClock* const clock_;
  std::unique_ptr<Connection> connection_;
  std::atomic<bool> hears_{false};
  std::chrono::steady_clock::time_point next_time_{};
  std::chrono::steady_clock::time_point next_look_{};
  std::atomic<std::chrono::steady_clock::time_point> looked_on_until_{};

  int wake_fd_ = -1;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::deque<std::string> waiting_;  // under mutex_
  std::thread thread_;
};

// Asks the database for its time and tells the clock.
void discipline(Connection& connection, DisciplinedClock& clock);

}  // namespace restante::postgres
