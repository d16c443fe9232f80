// Pulse: what goes on beside the long poll, on a connection and a thread of its own: heartbeats, the agent's own and
// those of the task it works on, the replies that wait in the ledger, a note of how it goes for `restante status`, and
// an eye on the clocks: when the wall clock has moved without ours the laptop has slept, and whatever was connected
// before is not to be waited for. Thread-safe.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "agent/api_client.h"
#include "agent/backoff.h"
#include "agent/ledger.h"
#include "base/clock.h"

namespace restante::agent {

struct ReportOptions {
  std::chrono::milliseconds beat{30'000};
  std::chrono::milliseconds task_beat{10'000};  // how long a cancelled task may go on without knowing
  std::chrono::milliseconds pause_first{500};
  std::chrono::milliseconds pause_most{15'000};
  std::chrono::seconds sleep_gap{20};  // a wall clock that jumps by more than this has seen the lid closed
  // No poll completed for so long, though none was given up either: the connection is cut and made anew.
  std::chrono::seconds poll_silence{180};
};

class BackgroundReports {
 public:
  using PrintLine = std::function<void(std::string_view)>;

  using GiveUp = std::function<void(const std::string& delegation)>;

  // `reconnect` ends the connections of everybody else; `give_up` hears of a task whose end was said without us. Both
  // are called on the pulse's thread.
  BackgroundReports(ReportOptions options, Ledger& ledger, const Clock& clock, std::function<void()> reconnect,
                    GiveUp give_up, PrintLine print_line);
  ~BackgroundReports();
  BackgroundReports(const BackgroundReports&) = delete;
  BackgroundReports& operator=(const BackgroundReports&) = delete;

  void start(std::unique_ptr<ApiClient> api, std::string server);
  void stop();

  // A poll has come back with an answer; nothing else proves that we are heard.
  void poll_completed();
  // Empty: all is well.
  void set_trouble(std::string sentence);
  // There is something to send.
  void wake();
  // The task in the agent's hands, of which the server knows that it was begun, and how long until its deadline; empty:
  // none.
  void set_current_task(const std::string& delegation, std::optional<std::chrono::milliseconds> left = {});

 private:
  void work();
  void check_clocks();
  void beat();
  void watch_task();
  void beat_task(const std::string& task);
  void give_up(const std::string& task, std::string_view why);
  // False when the rest has to wait.
  bool send_replies();
  client::Outcome<void> send(const Reply& reply);
  // A result that the server does not take ends its task all the same: its caller would wait for ever.
  client::Outcome<void> send_failure(const Reply& reply, const client::Failure& refusal);
  // Stages what goes with it; what cannot go is told in its text.
  client::Outcome<std::vector<Json>> send_files(Reply& reply);
  std::string health();

  ReportOptions options_;
  Ledger& ledger_;
  const Clock& clock_;
  std::function<void()> reconnect_;
  GiveUp give_up_;
  PrintLine print_line_;
  std::unique_ptr<ApiClient> api_;
  std::string server_;

  std::mutex mutex_;  // what others tell it
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::string trouble_;
  std::string task_;
  std::optional<SteadyTime> task_due_;
  std::optional<Time> last_poll_;
  SteadyTime alive_at_;  // the last completed poll, or the last time its absence was acted on

  Time started_;
  Time last_wall_;
  SteadyTime last_steady_;
  SteadyTime next_beat_, next_send_;
  std::string watched_task_;
  enum class TaskWatch {
    open,
    closed,
    given_up
  } task_watch_ = TaskWatch::open;  // on that task; closed: the server is not asked any more
  SteadyTime next_task_beat_;
  Backoff send_pause_;
  std::thread thread_;
};

}  // namespace restante::agent
