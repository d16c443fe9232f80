// Agent: the client of a workspace. It registers, holds one long poll, downloads files, hands messages and files over,
// acknowledges them and sends the answers. A kill at any moment loses nothing, and a delivery whose end is recorded is
// not handed over again: ledger.h and exec.h describe the one case that is left. run() blocks until stop is requested
// or until it makes no sense to continue; all threads that it starts have ended when it returns. Works with every
// server that keeps the wire contract.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "agent/answer_lines.h"
#include "agent/api_client.h"
#include "agent/background_reports.h"
#include "agent/backoff.h"
#include "agent/delivery_loop.h"
#include "agent/download_queue.h"
#include "agent/handover.h"
#include "agent/ledger.h"
#include "agent/stop.h"
#include "base/mutex.h"

namespace restante::agent {

struct Settings {
  client::Url server;
  std::string token;  // empty: the one in the state directory
  std::string enrol;  // empty: none
  std::string workspace;
  std::string name;  // for a workspace that enrolling creates; empty: the host's name
  std::string dir;
  std::string answers{};  // folder for the files of answers that wait to be sent; only for answer()
  client::HttpOptions http;
  std::chrono::seconds poll_wait{25};
  std::chrono::milliseconds busy_poll_interval{5'000};  // how often to poll while deliveries wait
  std::chrono::milliseconds backoff_first{500};
  std::chrono::milliseconds backoff_most{10'000};
  DownloadOptions downloads;
  DeliveryOptions delivery;
  ReportOptions reports;
};

enum class End {
  stopped,
  not_permitted,  // the token is missing, wrong or revoked
  refused,        // not a Restante server, or the workspace was removed
  reader_gone,    // our output cannot be written: its reader has closed it
};

class Agent {
 public:
  // One line for a person, on stderr. Called from several threads.
  using PrintLine = std::function<void(std::string_view)>;

  // `state` is the result of directory.load().
  Agent(Settings settings, StateDirectory directory, State state, Handover& handover, Stop& stop, PrintLine print_line);

  End run();

  // The rest is for a hand-over with its own requests (MCP). From any thread.

  struct ConnectionStatus {
    bool caught_up = false;  // registered, and one poll has been answered
    std::string trouble;     // why the server cannot be reached; empty: no trouble
    std::optional<End> end;  // run() has returned, or is about to
  };
  ConnectionStatus connection_status() const;
  // Waits until caught up, or until connection_status() has a trouble or an end.
  ConnectionStatus wait_until_caught_up(std::chrono::milliseconds time) const;
  const Settings& settings() const { return settings_; }
  // A new client for the caller; null before the agent is registered.
  std::unique_ptr<ApiClient> open_client() const;
  // Deliveries that were read and not yet handed over, as they would be handed over now, oldest first. The first may be
  // in progress.
  std::vector<Delivery> waiting() const;
  // Every file that the inbox announced and the state still has, oldest first.
  std::vector<FileRecord> files() const;
  // For the results of tasks that this agent gave to others: see DeliveryLoop::expect_result.
  DeliveryLoop& results() { return delivery_loop_; }
  // Polls soon, even while many deliveries wait.
  void poll_now();
  // The number of hops of a message to another agent: 0 when none of its messages is known, one more than that of its
  // last message else. No value when there must be no further one.
  std::optional<std::int64_t> next_hop_to(const std::string& peer) const;
  // Queues an answer that the agent's own program gave later than its hand-over, see answer_lines.h. Empty, or why it
  // cannot be sent.
  std::string answer(const AnswerLine& line);

 private:
  // Each returns an End when there is nothing more to do.
  std::optional<End> register_agent();
  std::optional<End> find_start_position();
  // Everything that could make the enrolment useless: its token works only once.
  std::optional<End> check_before_enrolling();
  std::optional<End> poll_once();
  // An End when the failure is final; otherwise pauses and returns no value.
  std::optional<End> handle_failure(const client::Failure& failure);
  // `restante status` shows the word and the sentence.
  End end_for_good(std::string word, std::string sentence, End end);

  bool set_identity(const RegistrationAnswer& registration, const std::string& token);
  std::string choose_token();
  std::unique_ptr<ApiClient> connect() const;
  void begin();
  void take(std::vector<ReceivedRow> rows);
  // Of a row after the cursor.
  bool was_read(const ReceivedRow& row) const;
  void take_file(const ReceivedRow& row);
  void reread();
  void move_cursor();
  // For a state of an earlier version, whose cursor is a number only.
  void find_cursor_row();
  // For connection_status(); empty: no trouble.
  void set_trouble(std::string trouble);
  void wait_for_progress();

  Settings settings_;
  Ledger ledger_;
  Stop& stop_;
  PrintLine print_line_;
  ApiClient api_;
  ApiClient task_client_;  // used by the delivery loop
  std::string token_;
  DownloadQueue downloads_;
  DeliveryLoop delivery_loop_;
  SystemClock clock_;
  BackgroundReports reports_;
  Backoff backoff_;
  // Rows that were read and that the cursor has not passed, in the order in which they were read. Their numbers are not
  // always in that order: see was_read().
  std::deque<Position> ahead_;
  std::uint64_t largest_file_ = 0;
  std::atomic<bool> begun_{false};
  bool connected_before_ = false;  // then a captive portal is no reason to give up
  bool unreachable_ = false;
  std::string end_word_, end_sentence_;
  std::atomic<bool> caught_up_{false};  // the first poll has been answered

  mutable Mutex mutex_;
  mutable ConditionVariable progressed_;
  std::optional<End> requested_end_ RESTANTE_GUARDED_BY(mutex_);  // set by another thread
  std::optional<End> final_end_ RESTANTE_GUARDED_BY(mutex_);
  std::string trouble_ RESTANTE_GUARDED_BY(mutex_);
  bool poll_now_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::agent
