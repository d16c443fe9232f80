// Agent: the laptop's side: register, then hold one long poll, have files brought, hand over, acknowledge, answer.
// Nothing is lost and nothing is handed over twice that this side can know to be done, whatever is killed when: see
// ledger.h and exec.h for the one window that is left. run() blocks until stop is requested or going on makes no sense.
// Everything it starts ends with it. It talks to any server that keeps the wire contract.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "agent/api_client.h"
#include "agent/background_reports.h"
#include "agent/backoff.h"
#include "agent/delivery_loop.h"
#include "agent/download_queue.h"
#include "agent/handover.h"
#include "agent/ledger.h"
#include "agent/stop.h"

namespace restante::agent {

struct Settings {
  client::Url server;
  std::string token;  // empty: the one kept at home
  std::string enrol;  // empty: none
  std::string workspace;
  std::string name;  // for a workspace that is made by enrolling; empty: the host's
  std::string dir;
  client::HttpOptions http;
  std::chrono::seconds poll_wait{25};
  std::chrono::milliseconds busy_poll_interval{5'000};  // how often the inbox is looked at while the agent is busy
  std::chrono::milliseconds backoff_first{500};
  std::chrono::milliseconds backoff_most{30'000};
  DownloadOptions downloads;
  DeliveryOptions delivery;
  ReportOptions reports;
};

enum class End {
  stopped,
  not_permitted,  // the token is missing, wrong or revoked
  refused,        // the server is no Restante, or the workspace is gone
  reader_gone,    // nobody takes what we hand over
};

class Agent {
 public:
  // One line for a person, on stderr. Called from several threads.
  using PrintLine = std::function<void(std::string_view)>;

  // `state` is what home.load() gave.
  Agent(Settings settings, StateDirectory directory, State state, Handover& handover, Stop& stop, PrintLine print_line);

  End run();

  // The rest is for a hand-over that has questions of its own. From any thread.

  struct ConnectionStatus {
    bool caught_up = false;  // registered, and the inbox was looked into at least once
    std::string trouble;     // why the server is not reached; empty: all is well
    std::optional<End> end;  // run() is over, or about to be
  };
  ConnectionStatus connection_status() const;
  // Waits until caught up, or until it is known that this will not happen by itself.
  ConnectionStatus wait_until_caught_up(std::chrono::milliseconds time) const;
  const Settings& settings() const { return settings_; }
  // A connection of the caller's own; null before the agent is registered.
  std::unique_ptr<ApiClient> open_client() const;
  // What was read and not handed over, as it would be handed over now, oldest first; the first may be in the agent's
  // hands.
  std::vector<Delivery> waiting() const;
  // Every file that the inbox announced, as far as it is remembered, oldest first.
  std::vector<FileRecord> files() const;
  // The results of tasks that this agent gave to others and waits for: see Porter.
  DeliveryLoop& results() { return delivery_loop_; }
  // Looks into the inbox soon, even while much waits to be handed over.
  void poll_now();

 private:
  // Each returns an End when there is nothing more to do.
  std::optional<End> register_agent();
  std::optional<End> find_start_position();
  std::optional<End> poll_once();
  // What a failed call means for the loop: an End, or a pause.
  std::optional<End> handle_failure(const client::Failure& failure);

  bool set_identity(const RegistrationAnswer& registration, const std::string& token);
  std::string choose_token();
  std::unique_ptr<ApiClient> connect() const;
  void begin();
  void take(std::vector<ReceivedRow> rows);
  void take_file(const ReceivedRow& row);
  void reread();
  void move_cursor();
  // What outlook() tells of the network; empty: all is well.
  void set_trouble(std::string trouble);
  void wait_for_progress();

  Settings settings_;
  Ledger ledger_;
  Stop& stop_;
  PrintLine print_line_;
  ApiClient api_;
  ApiClient task_client_;  // the porter's
  std::string token_;
  DownloadQueue downloads_;
  DeliveryLoop delivery_loop_;
  SystemClock clock_;
  BackgroundReports reports_;
  Backoff backoff_;
  std::int64_t read_ = 0;  // the last row that was looked at; the cursor is never beyond
  std::uint64_t largest_file_ = 0;
  std::atomic<bool> begun_{false};
  bool connected_before_ = false;  // so that a captive portal is no reason to give up
  bool unreachable_ = false;
  std::atomic<bool> caught_up_{false};  // the first poll has come back

  mutable std::mutex mutex_;  // progress: the porter says that a delivery has ended; and what outlook() tells
  mutable std::condition_variable progressed_;
  std::optional<End> end_;  // said by another thread
  std::optional<End> over_;
  std::string trouble_;
  bool poll_now_ = false;
};

}  // namespace restante::agent
