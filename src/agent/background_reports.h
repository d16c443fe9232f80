// BackgroundReports: the thread that sends heartbeats and replies, beside the long poll and on its own connection. It
// beats for the agent and for the task in progress, sends the replies that wait in the ledger, and writes the health
// file for `restante status`. It also compares the wall clock with the steady clock: when only the wall clock has
// jumped, the machine has slept, and all connections are closed because they are probably dead. Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "agent/api_client.h"
#include "agent/backoff.h"
#include "agent/delivery_status.h"
#include "agent/ledger.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace restante::agent {

struct ReportOptions {
  std::chrono::milliseconds beat{30'000};
  std::chrono::milliseconds task_beat{10'000};  // a cancelled task may run on for this long
  std::chrono::milliseconds pause_first{500};
  std::chrono::milliseconds pause_most{10'000};
  std::chrono::seconds sleep_gap{20};  // a larger jump of the wall clock means: the machine slept
  // When no poll has completed or failed for so long, the connections are closed and opened again.
  std::chrono::seconds poll_silence{180};
  // When a delivery takes longer and others wait for it, a line says so.
  std::chrono::seconds slow_delivery{300};
};

class BackgroundReports {
 public:
  using PrintLine = std::function<void(std::string_view)>;

  using GiveUp = std::function<void(const std::string& delegation)>;

  // `reconnect` closes the connections of all other threads. `give_up` is called for a task that ended without us. Both
  // run on this object's thread.
  BackgroundReports(ReportOptions options, Ledger& ledger, const Clock& clock, std::function<void()> reconnect,
                    GiveUp give_up, PrintLine print_line);
  ~BackgroundReports();

  void start(std::unique_ptr<ApiClient> api, std::string server);
  void stop();
  // What the health file shows about deliveries. Set it before start().
  void inspect_deliveries(std::function<DeliveryStatus()> inspect) { deliveries_ = std::move(inspect); }
  // Why the agent has ended for good, as a word and a sentence, for `restante status`.
  void write_end(std::string_view word, std::string_view sentence);

  // A poll has been answered. Nothing else proves that messages can reach us.
  void poll_completed();
  // Empty: no trouble.
  void set_trouble(std::string sentence);
  // A reply waits in the ledger.
  void wake();
  // The task in progress, of which the server knows that it was begun, and the time until its deadline; empty: none.
  void set_current_task(const std::string& delegation, std::optional<std::chrono::milliseconds> left = {});

 private:
  void work();
  void check_clocks();
  void beat();
  void watch_task();
  void watch_deliveries();
  void beat_task(const std::string& task);
  void give_up(const std::string& task, std::string_view why);
  // False when the remaining replies have to wait.
  bool send_replies();
  client::Outcome<void> send(const Reply& reply);
  // When the server refuses a result, reports the task as failed: otherwise its caller would wait for ever.
  client::Outcome<void> send_failure(const Reply& reply, const client::Failure& refusal);
  // Stages the reply's files. A file that cannot be sent is named in the reply's text.
  client::Outcome<std::vector<Json>> send_files(Reply& reply);
  std::string health(std::string_view end = {}, std::string_view sentence = {});

  ReportOptions options_;
  Ledger& ledger_;
  const Clock& clock_;
  std::function<void()> reconnect_;
  GiveUp give_up_;
  PrintLine print_line_;
  std::function<DeliveryStatus()> deliveries_;
  std::unique_ptr<ApiClient> api_;
  std::string server_;
  const Time started_;

  Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ RESTANTE_GUARDED_BY(mutex_) = false;
  bool woken_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::string trouble_ RESTANTE_GUARDED_BY(mutex_);
  std::string task_ RESTANTE_GUARDED_BY(mutex_);
  std::optional<SteadyTime> task_due_ RESTANTE_GUARDED_BY(mutex_);
  std::optional<Time> last_poll_ RESTANTE_GUARDED_BY(mutex_);
  // The last completed poll, or the last time its absence was acted on.
  SteadyTime alive_at_ RESTANTE_GUARDED_BY(mutex_);

  // Used only by its thread.
  Time last_wall_;
  SteadyTime last_steady_;
  SteadyTime next_beat_, next_send_;
  std::string inspected_;      // the delivery, with its trouble, that the health file shows
  std::string slow_delivery_;  // the one that was reported
  std::string watched_task_;
  enum class TaskWatch {
    open,
    closed,
    given_up
  } task_watch_ = TaskWatch::open;  // of watched_task_; closed: no more heartbeats for it
  SteadyTime next_task_beat_;
  Backoff send_pause_;
  std::thread thread_;
};

}  // namespace restante::agent
