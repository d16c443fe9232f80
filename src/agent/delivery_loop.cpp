#include "agent/delivery_loop.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/backoff.h"
#include "agent/result_files.h"

namespace restante::agent {
namespace {

using Where = FileRecord::Where;
using std::chrono::steady_clock;

// How often a wait checks for the stop: Stop wakes no condition variable.
constexpr std::chrono::milliseconds kStopCheckInterval{200};

bool is_on_its_way(const FileRecord& file) { return file.where == Where::waiting && file.trouble != "failed"; }

// True when the agent should be notified that the file did not arrive, even if no message names it. A file that another
// process of this workspace has taken is not reported.
bool has_unreported_trouble(const FileRecord& file) {
  if (file.notified) return false;
  return file.trouble == "failed" || file.trouble == "expired" || file.trouble == "recalled";
}

bool goes_alone(const FileRecord& file) {
  return file.where == Where::landed ? !file.handed_over : has_unreported_trouble(file);
}

bool names(const ReceivedRow& row, FileId id) {
  const auto uris = file_uris(row.request_body);
  return std::any_of(uris.begin(), uris.end(), [&](const std::string& uri) { return pending_file(uri) == id; });
}

bool is_worth_asking_again(const client::Failure& failure) {
  return may_yet_succeed(failure) || failure.kind == client::Failure::Kind::cancelled || failure.is_status(401);
}

Delivery as_ended(Delivery delivery, const ApiClient::TaskView& task) {
  delivery.type = "ended";
  delivery.status = task.status;
  delivery.reason = task.why;
  return delivery;
}

std::string describe(const Delivery& delivery) {
  const auto from = delivery.source_id ? "agent " + *delivery.source_id : std::string("the person");
  if (delivery.type == "file") return "file " + (delivery.files.empty() ? delivery.id : delivery.files.front().name);
  if (delivery.type == "result") return "result of task " + delivery.delegation_id;
  if (is_task(delivery)) return fmt::format("task {} from {}", delivery.delegation_id, from);
  return "message from " + from;
}

std::optional<Origin> origin_of(const Delivery& delivery) {
  if (!delivery.source_id) return {};
  const auto task = delivery.type == "message" ? delivery.delegation_id : std::string();
  return Origin{delivery.id, delivery.created_at, *delivery.source_id, task, delivery.hops};
}

// The inbox row that an answer answers. The report that a file did not arrive has an id of its own.
std::string row_of(const Delivery& delivery) {
  const auto row = InboxRowId::parse(delivery.id);
  return row ? row->text() : std::string();
}

change::DeliveryEnd end_of(const Delivery& delivery) {
  change::DeliveryEnd end;
  end.id = delivery.id;
  end.created_at = delivery.created_at;
  for (const auto& file : delivery.files) {
    if (!file.id) continue;
    if (file.state == "landed") end.files.push_back(*file.id);
    if (file.state != "landed" && file.state != "missing") end.notified.push_back(*file.id);
  }
  return end;
}

}  // namespace

DeliveryLoop::DeliveryLoop(DeliveryOptions options, Ledger& ledger, Handover& handover, Stop& stop, Notify progress,
                           Notify closed, Ask ask, TaskObserver task, PrintLine print_line)
    : options_(options),
      ledger_(ledger),
      handover_(handover),
      stop_(stop),
      progress_(std::move(progress)),
      closed_(std::move(closed)),
      ask_(std::move(ask)),
      task_(std::move(task)),
      print_line_(std::move(print_line)) {}

DeliveryLoop::~DeliveryLoop() { join(); }

void DeliveryLoop::start() {
  thread_ = std::thread([this] { work(); });
}

void DeliveryLoop::join() {
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeliveryLoop::take(ReceivedRow message) {
  {
    const MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
  }
  changed_.notify_all();
}

void DeliveryLoop::take(FileId file) {
  const auto record = ledger_.file(file);
  {
    const MutexLock lock(mutex_);
    const bool begun = record && ledger_.has_begun(deliver_file(*record).id);
    const auto grace = begun ? std::chrono::milliseconds(0) : options_.file_grace;
    if (record && goes_alone(*record)) files_.try_emplace(file.text(), steady_clock::now() + grace);
  }
  changed_.notify_all();
}

std::vector<ReceivedRow> DeliveryLoop::waiting() const {
  const MutexLock lock(mutex_);
  std::vector<ReceivedRow> rows;
  for (const ReceivedRow& row : messages_) {
    if (!is_expected(row)) rows.push_back(row);
  }
  return rows;
}

std::size_t DeliveryLoop::waiting_count() const {
  const MutexLock lock(mutex_);
  return messages_.size();
}

std::optional<std::string> DeliveryLoop::first_waiting() const {
  const MutexLock lock(mutex_);
  return messages_.empty() ? std::nullopt : std::optional(messages_.front().id);
}

DeliveryStatus DeliveryLoop::status() const {
  const MutexLock lock(mutex_);
  const bool first_is_under_way = under_way_ && !messages_.empty() && messages_.front().id == under_way_->id;
  return {under_way_, messages_.size() - (first_is_under_way ? 1 : 0)};
}

void DeliveryLoop::set_under_way(std::optional<DeliveryStatus::UnderWay> delivery) {
  const MutexLock lock(mutex_);
  under_way_ = std::move(delivery);
}

void DeliveryLoop::set_trouble(const std::string& trouble) {
  const MutexLock lock(mutex_);
  if (under_way_) under_way_->trouble = trouble;
}

void DeliveryLoop::work() {
  MutexLock lock(mutex_);
  bool receiver_ready = false;
  while (!stop_.requested()) {
    const auto now = steady_clock::now();
    const auto file = next_file(now);
    const auto message = next_message();
    const bool ready = message != messages_.end() && is_ready(*message, now);
    if (!file && !ready) {
      const auto next_check = now + kStopCheckInterval;
      changed_.wait_until(lock, std::min(next_check, next_moment().value_or(next_check)));
      continue;
    }
    if (!receiver_ready) {
      // Choose again afterwards: hours may have passed, and the delivery must show the state of that time.
      lock.unlock();
      receiver_ready = handover_.wait_for_receiver();
      lock.lock();
      continue;
    }
    receiver_ready = false;
    auto outcome = HandedOver::handed;
    if (file && (!ready || comes_before(*file, *message))) {
      files_.erase(file->text());
      lock.unlock();
      outcome = hand_over_file(*file);
    } else {
      const auto row = *message;
      lock.unlock();
      outcome = hand_over_message(row);
      if (outcome == HandedOver::handed) drop(row.id);
    }
    if (outcome == HandedOver::closed) return closed_();
    if (outcome == HandedOver::handed) progress_();
    lock.lock();
  }
}

// The first message that is not an expected result.
std::deque<ReceivedRow>::iterator DeliveryLoop::next_message() {
  auto message = messages_.begin();
  while (message != messages_.end() && is_expected(*message)) ++message;
  return message;
}

bool DeliveryLoop::is_expected(const ReceivedRow& row) const {
  return !expected_.empty() && expected_.contains(result_of(row));
}

void DeliveryLoop::drop(const std::string& row_id) {
  const MutexLock lock(mutex_);
  std::erase_if(messages_, [&](const ReceivedRow& row) { return row.id == row_id; });
  waiting_since_.reset();
}

void DeliveryLoop::expect_result(const std::string& delegation) {
  const MutexLock lock(mutex_);
  expected_.insert(delegation);
}

void DeliveryLoop::stop_expecting(const std::string& delegation) {
  {
    const MutexLock lock(mutex_);
    expected_.erase(delegation);
  }
  changed_.notify_all();
}

std::optional<ReceivedRow> DeliveryLoop::wait_for_result(const std::string& delegation,
                                                         std::chrono::milliseconds time) {
  const auto until = steady_clock::now() + time;
  MutexLock lock(mutex_);
  for (;;) {
    const auto found = std::find_if(messages_.begin(), messages_.end(),
                                    [&](const ReceivedRow& row) { return result_of(row) == delegation; });
    if (found != messages_.end() && !has_files_on_their_way(*found)) return *found;
    if (stop_.requested() || changed_.wait_until(lock, until) == std::cv_status::timeout) return {};
  }
}

Delivery DeliveryLoop::begin_result(const ReceivedRow& row) {
  auto delivery = ledger_.compose(row);
  delivery.again = ledger_.begin(delivery.id) == Ledger::Begun::again;
  return delivery;
}

void DeliveryLoop::end_result(const Delivery& delivery) {
  auto end = end_of(delivery);
  end.origin = origin_of(delivery);
  ledger_.end_delivery(end);
  drop(delivery.id);
  progress_();
}

std::vector<FileId> DeliveryLoop::waiting_files() const {
  const MutexLock lock(mutex_);
  std::vector<FileId> ids;
  for (const auto& [text, due] : files_) {
    const auto id = FileId::parse(text).value();
    const auto file = ledger_.file(id);
    if (file && goes_alone(*file) && !is_named(id)) ids.push_back(id);
  }
  return ids;
}

// Whether a waiting message names the file, an expected result included.
bool DeliveryLoop::is_named(FileId file) const {
  return std::any_of(messages_.begin(), messages_.end(), [&](const ReceivedRow& row) { return names(row, file); });
}

// A file that is due and that no waiting message names. Never before a message that an earlier process has begun: its
// command may still run.
std::optional<FileId> DeliveryLoop::next_file(Moment now) {
  if (!messages_.empty() && ledger_.has_begun(messages_.front().id)) return {};
  for (const auto& [text, due] : files_) {
    const auto id = FileId::parse(text).value();
    if (due <= now && !is_named(id)) return id;
  }
  return {};
}

bool DeliveryLoop::comes_before(FileId id, const ReceivedRow& message) const {
  const auto file = ledger_.file(id);
  return !file || file->seq < message.seq;
}

std::optional<DeliveryLoop::Moment> DeliveryLoop::next_moment() const {
  std::optional<Moment> next;
  for (const auto& [id, due] : files_) {
    if (due > steady_clock::now() && (!next || due < *next)) next = due;
  }
  return next;
}

bool DeliveryLoop::is_ready(const ReceivedRow& row, Moment now) {
  if (!waiting_since_) waiting_since_ = now;
  return now - *waiting_since_ >= options_.file_patience || !has_files_on_their_way(row);
}

bool DeliveryLoop::has_files_on_their_way(const ReceivedRow& row) const {
  const auto uris = file_uris(row.request_body);
  return std::any_of(uris.begin(), uris.end(), [this](const std::string& uri) {
    const auto id = pending_file(uri);
    const auto file = id ? ledger_.file(*id) : std::nullopt;
    return file && is_on_its_way(*file);
  });
}

DeliveryLoop::HandedOver DeliveryLoop::hand_over_message(const ReceivedRow& row) {
  for (;;) {
    const auto task = ask(ledger_.compose(row));
    if (!task) return HandedOver::stopped;
    // Composed after the answer, which may have taken hours: the files are shown as they are now.
    if (handover_.has_receiver()) return hand_over(ledger_.compose(row), *task);
    // The receiver has left meanwhile, and when the next one comes this answer may be hours old.
    if (!handover_.wait_for_receiver()) return HandedOver::stopped;
  }
}

DeliveryLoop::HandedOver DeliveryLoop::hand_over_file(FileId id) {
  // A message may have delivered it meanwhile.
  const auto file = ledger_.file(id);
  return file && goes_alone(*file) ? hand_over(deliver_file(*file), {}) : HandedOver::handed;
}

// Asks the server whether the delivery is a task and is still wanted. Repeats until the server answers: a task that was
// cancelled meanwhile must not be begun. One that the server does not know, or does not show, is no task: nobody could
// take its result. No value: stop was requested.
std::optional<ApiClient::TaskView> DeliveryLoop::ask(const Delivery& delivery) {
  if (!is_task(delivery)) return ApiClient::TaskView();
  Backoff pause(options_.pause_first, options_.pause_most);
  for (bool printed = false;; printed = true) {
    const auto answer = ask_(delivery);
    if (answer.has_value()) return *answer;
    if (!is_worth_asking_again(answer.error())) return ApiClient::TaskView{ApiClient::TaskInterest::not_a_task, {}, {}};
    if (stop_.requested()) return {};
    if (!printed) {
      print_line_(fmt::format("task {} waits until the server answers whether it is still wanted: {}",
                              delivery.delegation_id, answer.error().sentence));
    }
    if (stop_.wait_for(pause.next())) return {};
  }
}

DeliveryLoop::HandedOver DeliveryLoop::hand_over(Delivery delivery, ApiClient::TaskView task) {
  set_under_way(DeliveryStatus::UnderWay{delivery.id, describe(delivery), SystemClock().now(), {}});
  const auto outcome = hand_over_until_done(std::move(delivery), std::move(task));
  set_under_way({});
  return outcome;
}

DeliveryLoop::HandedOver DeliveryLoop::hand_over_until_done(Delivery delivery, ApiClient::TaskView task) {
  delivery.again = ledger_.begin(delivery.id) == Ledger::Begun::again;
  auto end = end_of(delivery);
  const auto finish = [&] {
    end.origin = origin_of(delivery);
    ledger_.end_delivery(end);
    handover_.ended(delivery);
    return HandedOver::handed;
  };
  Backoff pause(options_.pause_first, options_.pause_most);
  bool unusable = false;
  for (int attempt = 1;; ++attempt) {
    if (task.interest == ApiClient::TaskInterest::not_a_task) {
      print_line_(
          fmt::format("the message {} names task {}, which the server did not give to this agent with it; it is "
                      "handed over as a message",
                      delivery.id, delivery.delegation_id));
      forget_task(delivery);
    }
    auto result = deliver(delivery, task);
    if (result.what != HandoverResult::What::unusable) set_trouble({});
    switch (result.what) {
      case HandoverResult::What::stopped:
        return HandedOver::stopped;
      case HandoverResult::What::closed:
        print_line_("the output cannot be written: " + result.trouble);
        return HandedOver::closed;
      case HandoverResult::What::handled:
        if (!result.reply.empty() || !result.files.empty()) {
          end.reply = reply_to(delivery, std::move(result.reply));
          if (!end.reply) discard_folder(result.files);
          if (end.reply) end.reply->files = std::move(result.files);
        }
        // A line and a tool call show by themselves that they were handed over.
        if (handover_.returns_when_done())
          print_line_(describe(delivery) +
                      (end.reply ? ": handled, the answer is sent" : ": handled, without an answer"));
        return finish();
      case HandoverResult::What::dropped:
        print_line_(result.trouble);
        return finish();
      case HandoverResult::What::not_taken: {
        const auto view = handover_.wait_for_receiver() ? ask(delivery) : std::nullopt;
        if (!view) return HandedOver::stopped;
        task = *view;
        --attempt;
        continue;
      }
      case HandoverResult::What::unusable: {
        if (!std::exchange(unusable, true))
          print_line_(result.trouble + "; deliveries wait and are tried again until it works");
        set_trouble(result.trouble);
        if (stop_.wait_for(pause.next())) return HandedOver::stopped;
        const auto view = ask(delivery);
        if (!view) return HandedOver::stopped;
        task = *view;
        --attempt;
        continue;
      }
      case HandoverResult::What::failed:
        break;
    }
    print_line_(fmt::format("{} (attempt {} of {})", result.trouble, attempt, options_.attempts));
    if (attempt >= options_.attempts) {
      // One message that always fails must not block the others; its sender is notified.
      end.reply = failure_reply_for(delivery, result);
      return finish();
    }
    delivery.again = true;
    if (stop_.wait_for(pause.next())) return HandedOver::stopped;
    const auto view = ask(delivery);
    if (!view) return HandedOver::stopped;
    task = *view;
  }
}

HandoverResult DeliveryLoop::deliver(const Delivery& delivery, const ApiClient::TaskView& task) {
  using TaskInterest = ApiClient::TaskInterest;
  // A task that was given up as silent is finished if it was begun, since a late result is accepted. Otherwise it is
  // not begun.
  if (task.interest == TaskInterest::unwanted ||
      (task.interest == TaskInterest::late && !handover_.has_begun(delivery)))
    return handover_.skip_ended(as_ended(delivery, task));
  const bool returns_when_done = is_task(delivery) && handover_.returns_when_done();
  if (returns_when_done) task_(delivery.delegation_id, task.left);
  auto result = handover_.deliver(delivery);
  if (returns_when_done) task_({}, {});
  return result;
}

std::optional<Reply> DeliveryLoop::reply_to(const Delivery& delivery, std::string text) {
  Reply reply;
  reply.key = "reply-" + delivery.id;
  reply.text = std::move(text);
  reply.row = row_of(delivery);
  if (!delivery.delegation_id.empty() && delivery.type == "message") {
    reply.to = Reply::To::delegation;
    reply.target = delivery.delegation_id;
  } else if (delivery.source_id) {
    if (options_.agents == DeliveryOptions::Agents::not_answered || delivery.type == "result") {
      print_line_("the answer to another agent is not sent; --reply-to-agents would");
      return {};
    }
    const auto hops = ledger_.next_hop(delivery);
    if (!hops) {
      print_line_(fmt::format("agent {} is not answered any more: {} automatic answers in a row are enough",
                              *delivery.source_id, kMostHops));
      return {};
    }
    reply.to = Reply::To::agent;
    reply.target = *delivery.source_id;
    reply.hops = *hops;
  }
  return reply;
}

std::optional<Reply> DeliveryLoop::failure_reply_for(const Delivery& delivery, const HandoverResult& result) const {
  Reply reply;
  reply.key = "failed-" + delivery.id;
  reply.text = "The agent could not handle this: " + result.trouble + ".";
  if (!result.errors.empty()) reply.text += " The last lines of its errors:\n" + result.errors;
  reply.row = row_of(delivery);
  if (!delivery.delegation_id.empty() && delivery.type == "message") {
    reply.to = Reply::To::delegation;
    reply.target = delivery.delegation_id;
    reply.failed = true;
  } else if (delivery.source_id) {
    return {};
  }
  return reply;
}

}  // namespace restante::agent
