// DeliveryLoop: the thread that hands over to the agent, one delivery after the other. The poll does not wait for it,
// so a command may take an hour. Messages go in the order of the inbox. A message waits a short while for the files it
// names and is then handed over with their present state. A file that no message names is handed over alone. The end of
// a delivery is in the ledger before the next begins: an ended delivery is never handed over again; one that was begun
// and has no recorded end is handed over again and marked so (Delivery::again). Thread-safe.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/delivery_status.h"
#include "agent/handover.h"
#include "agent/ledger.h"
#include "agent/stop.h"
#include "base/mutex.h"

namespace restante::agent {

struct DeliveryOptions {
  // How long a message waits for files that are not here yet.
  std::chrono::milliseconds file_patience{20'000};
  // How long a file waits for a message that names it before it is handed over alone. Just below one second: a page
  // sends its message a few milliseconds after the upload, and a person looks at the clock from then on.
  std::chrono::milliseconds file_grace{900};
  int attempts = 5;
  std::chrono::milliseconds pause_first{1'000};
  std::chrono::milliseconds pause_most{10'000};
  enum class Agents { not_answered, answered } agents = Agents::not_answered;
};

class DeliveryLoop {
 public:
  using PrintLine = std::function<void(std::string_view)>;
  using Notify = std::function<void()>;
  using Ask = std::function<client::Outcome<ApiClient::TaskView>(const Delivery& message)>;
  using TaskObserver =
      std::function<void(const std::string& delegation, std::optional<std::chrono::milliseconds> left)>;

  // `progress` is called after every delivery that has ended, on the thread that ended it. The others are called on the
  // loop's thread: `closed` when the hand-over has no reader any more; `ask` before every attempt at a task, which
  // begins only when the answer is that it is wanted, and which is a message like any other when the answer is that it
  // is no task; `task` with the delegation that is worked on, and with an empty id when there is none.
  DeliveryLoop(DeliveryOptions options, Ledger& ledger, Handover& handover, Stop& stop, Notify progress, Notify closed,
               Ask ask, TaskObserver task, PrintLine print_line);
  ~DeliveryLoop();

  void start();
  // The stop must have been requested.
  void join();

  void take(ReceivedRow message);
  // The state of this file has changed. If it is to be handed over alone, its file_grace begins now.
  void take(FileId file);
  // Messages that wait, oldest first; the first may be in progress. Without expected results.
  std::vector<ReceivedRow> waiting() const;
  std::size_t waiting_count() const;
  // Files that are to be handed over alone: no waiting message names them, and none was handed over with them.
  std::vector<FileId> waiting_files() const;
  // From now on the loop does not hand over the result of this delegation: the caller takes it with wait_for_result().
  void expect_result(const std::string& delegation);
  // The result of this task is not wanted any more.
  void give_up(const std::string& delegation) { handover_.give_up(delegation); }
  // The loop hands over this result again.
  void stop_expecting(const std::string& delegation);
  // Waits until the result and its files have arrived. No value when the time is up.
  std::optional<ReceivedRow> wait_for_result(const std::string& delegation, std::chrono::milliseconds time);
  // Call these before and after handing over an expected result. Each change is durable when the call returns.
  Delivery begin_result(const ReceivedRow& row);
  void end_result(const Delivery& delivery);
  // The row id of the first message that is not yet handed over.
  std::optional<std::string> first_waiting() const;
  DeliveryStatus status() const;

 private:
  using Moment = std::chrono::steady_clock::time_point;
  enum class HandedOver { handed, stopped, closed };

  void work();
  std::optional<FileId> next_file(Moment now) RESTANTE_REQUIRES(mutex_);
  std::optional<Moment> next_moment() const RESTANTE_REQUIRES(mutex_);
  bool comes_before(FileId file, const ReceivedRow& message) const;
  bool is_named(FileId file) const RESTANTE_REQUIRES(mutex_);
  bool is_ready(const ReceivedRow& row, Moment now) RESTANTE_REQUIRES(mutex_);
  bool has_files_on_their_way(const ReceivedRow& row) const;
  HandedOver hand_over_message(const ReceivedRow& row);
  HandedOver hand_over_file(FileId id);
  HandedOver hand_over(Delivery delivery, ApiClient::TaskView task);
  HandedOver hand_over_until_done(Delivery delivery, ApiClient::TaskView task);
  std::optional<ApiClient::TaskView> ask(const Delivery& delivery);
  HandoverResult deliver(const Delivery& delivery, const ApiClient::TaskView& task);
  bool is_expected(const ReceivedRow& row) const RESTANTE_REQUIRES(mutex_);
  std::deque<ReceivedRow>::iterator next_message() RESTANTE_REQUIRES(mutex_);
  void drop(const std::string& row_id) RESTANTE_EXCLUDES(mutex_);
  // Of the delivery under way; empty: no trouble.
  void set_trouble(const std::string& trouble) RESTANTE_EXCLUDES(mutex_);
  void set_under_way(std::optional<DeliveryStatus::UnderWay> delivery) RESTANTE_EXCLUDES(mutex_);
  std::optional<Reply> reply_to(const Delivery& delivery, std::string text);
  std::optional<Reply> failure_reply_for(const Delivery& delivery, const HandoverResult& result) const;

  DeliveryOptions options_;
  Ledger& ledger_;
  Handover& handover_;
  Stop& stop_;
  Notify progress_, closed_;
  Ask ask_;
  TaskObserver task_;
  PrintLine print_line_;

  mutable Mutex mutex_;  // the poll and the download threads add, the loop takes
  ConditionVariable changed_;
  std::deque<ReceivedRow> messages_ RESTANTE_GUARDED_BY(mutex_);
  std::map<std::string, Moment> files_ RESTANTE_GUARDED_BY(mutex_);  // by file id: when to hand it over alone
  // Since when the first message waits for its files.
  std::optional<Moment> waiting_since_ RESTANTE_GUARDED_BY(mutex_);
  // Delegations whose results a caller of wait_for_result() takes.
  std::set<std::string> expected_ RESTANTE_GUARDED_BY(mutex_);
  std::optional<DeliveryStatus::UnderWay> under_way_ RESTANTE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace restante::agent
