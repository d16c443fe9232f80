// Agent: the laptop's loop: register, then hold one long poll, bring files, hand over, acknowledge, answer.
// At-least-once towards the hand-over, with nothing lost and nothing repeated that this side knows to be done, whatever
// is killed when. run() blocks until stop is requested or going on makes no sense; it uses two more threads, for the
// heartbeat and for the end.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/backoff.h"
#include "agent/courier.h"
#include "agent/handover.h"
#include "agent/home.h"
#include "agent/platform.h"
#include "agent/stop.h"

namespace restante::agent {

struct Settings {
  client::Url server;
  std::string token;  // empty: the one kept at home
  std::string enrol;  // empty: none
  std::string workspace;
  std::string dir;
  client::HttpOptions http;
  std::chrono::seconds poll_wait{25};
  std::chrono::seconds heartbeat{30};
  // How long a file waits for a message that names it before it is handed over alone. Just below one second, the
  // shortest poll: a page sends its message a few milliseconds after the upload, and a person looks at the clock from
  // then on.
  std::chrono::milliseconds file_grace{900};
  std::chrono::milliseconds backoff_first{500};
  std::chrono::milliseconds backoff_most{30'000};
  int handover_attempts = 5;
};

enum class End {
  stopped,
  not_permitted,  // the token is missing, wrong or revoked
  refused,        // the server is no Restante, or the workspace is gone
  reader_gone,    // nobody takes what we hand over
};

class Agent {
 public:
  // One line for a person, on stderr.
  using Say = std::function<void(std::string_view)>;

  Agent(Settings settings, Home home, State state, Handover& handover, Stop& stop, Say say);

  End run();

 private:
  using Steady = std::chrono::steady_clock::time_point;

  // Each returns an End when there is nothing more to do.
  std::optional<End> enlist();
  std::optional<End> turn();
  std::optional<End> take(Row row);
  std::optional<End> take_message(Row row);
  std::optional<End> hand_over_due_files();
  std::optional<End> hand_over(const Delivery& delivery);
  // What a failed call means for the loop: an End, or a pause.
  std::optional<End> weather(const client::Failure& failure);

  bool adopt(const Registration& registration);
  std::string choose_token();
  void take_file(const Row& row);
  void bring(FileRecord& record);
  void acknowledge(FileRecord& record);
  void tidy();
  void send_replies();
  void save();
  void beat_until_stopped();
  std::chrono::seconds poll_wait() const;

  Settings settings_;
  Home home_;
  State state_;
  Handover& handover_;
  Stop& stop_;
  Say say_;
  Platform platform_;
  Platform pulse_;  // its own connection: the long poll holds the other
  Courier courier_;
  Backoff backoff_;
  Backoff file_backoff_;
  Steady started_ = std::chrono::steady_clock::now();
  Steady retry_files_at_{};
  std::map<std::string, Steady> due_;  // by uri: files that wait for a message
  bool unreachable_ = false;
  bool unsaved_ = false;
  bool save_failed_ = false;
};

}  // namespace restante::agent
