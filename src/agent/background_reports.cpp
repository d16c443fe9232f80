#include "agent/background_reports.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "agent/result_files.h"
#include "base/json_writer.h"

namespace restante::agent {
namespace {

using client::Failure;

constexpr std::chrono::milliseconds kTick{1'000};

// False when the server has refused the reply for good: it must not block the next ones.
bool is_worth_another_try(const Failure& failure) {
  if (may_yet_succeed(failure) || failure.kind == Failure::Kind::cancelled) return true;
  return failure.kind == Failure::Kind::status && (failure.status == 401 || failure.code == "idempotency_in_progress");
}

// False when the refused result's task has ended or is not known: then no caller waits.
bool leaves_task_open(const Failure& refusal) {
  return refusal.kind == Failure::Kind::status && refusal.status >= 400 && refusal.status < 500 &&
         refusal.status != 404 && refusal.status != 409;
}

}  // namespace

BackgroundReports::BackgroundReports(ReportOptions options, Ledger& ledger, const Clock& clock,
                                     std::function<void()> reconnect, GiveUp give_up, PrintLine print_line)
    : options_(options),
      ledger_(ledger),
      clock_(clock),
      reconnect_(std::move(reconnect)),
      give_up_(std::move(give_up)),
      print_line_(std::move(print_line)),
      started_(clock.now()),
      alive_at_(clock.steady()),
      last_wall_(started_),
      last_steady_(clock.steady()),
      next_beat_(last_steady_),
      next_send_(last_steady_),
      send_pause_(options.pause_first, options.pause_most) {}

BackgroundReports::~BackgroundReports() { stop(); }

void BackgroundReports::start(std::unique_ptr<ApiClient> api, std::string server) {
  api_ = std::move(api);
  server_ = std::move(server);
  thread_ = std::thread([this] { work(); });
}

void BackgroundReports::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    if (api_) api_->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundReports::poll_completed() {
  {
    const MutexLock lock(mutex_);
    last_poll_ = clock_.now();
    alive_at_ = clock_.steady();
    trouble_.clear();
  }
  ledger_.write_health(health());
}

void BackgroundReports::set_trouble(std::string sentence) {
  {
    const MutexLock lock(mutex_);
    trouble_ = std::move(sentence);
    alive_at_ = clock_.steady();  // a poll that failed is not silence
  }
  ledger_.write_health(health());
}

void BackgroundReports::wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void BackgroundReports::set_current_task(const std::string& delegation, std::optional<std::chrono::milliseconds> left) {
  const MutexLock lock(mutex_);
  task_ = delegation;
  task_due_ = left ? std::optional(clock_.steady() + *left) : std::nullopt;
}

void BackgroundReports::work() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    check_clocks();
    const auto now = clock_.steady();
    if (now >= next_send_ && !send_replies()) next_send_ = clock_.steady() + send_pause_.next();
    if (now >= next_beat_) beat();
    watch_task();
    watch_deliveries();
    lock.lock();
    if (!stopping_ && !woken_) changed_.wait_for(lock, std::min(kTick, options_.beat));
  }
}

void BackgroundReports::check_clocks() {
  const auto wall = clock_.now();
  const auto steady = clock_.steady();
  const auto slept = (wall - last_wall_) - std::chrono::duration_cast<std::chrono::microseconds>(steady - last_steady_);
  last_wall_ = wall;
  last_steady_ = steady;
  bool silent = false;
  {
    const MutexLock lock(mutex_);
    silent = steady - alive_at_ > options_.poll_silence;
    if (silent) alive_at_ = steady;
  }
  if (slept > options_.sleep_gap) {
    next_beat_ = next_send_ = steady;
    print_line_("this machine was asleep; connecting again");
    reconnect_();
  } else if (silent) {
    print_line_("no poll has been answered for a while; connecting again");
    reconnect_();
  }
}

void BackgroundReports::beat() {
  next_beat_ = clock_.steady() + options_.beat;
  // No line for a missed beat: the poll meets the same trouble and prints it.
  (void)api_->beat(std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_));
}

void BackgroundReports::watch_task() {
  std::string task;
  std::optional<SteadyTime> due;
  {
    const MutexLock lock(mutex_);
    task = task_;
    due = task_due_;
  }
  const auto now = clock_.steady();
  if (task != std::exchange(watched_task_, task)) {
    task_watch_ = TaskWatch::open;
    next_task_beat_ = now + options_.task_beat;
  }
  if (task.empty()) return;
  // Again at every check: the first call may have come before the task's command was started.
  if (task_watch_ == TaskWatch::given_up) return give_up_(task);
  // The server ends an overdue task only at its next sweep.
  if (due && now >= *due) return give_up(task, "is overdue");
  if (task_watch_ == TaskWatch::open && now >= next_task_beat_) beat_task(task);
}

void BackgroundReports::watch_deliveries() {
  if (!deliveries_) return;
  const auto status = deliveries_();
  const auto shown = status.under_way ? status.under_way->id + status.under_way->trouble : std::string();
  if (shown != std::exchange(inspected_, shown)) ledger_.write_health(health());
  if (!status.under_way || status.waiting == 0 || status.under_way->id == slow_delivery_) return;
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - status.under_way->since);
  if (age < options_.slow_delivery) return;
  slow_delivery_ = status.under_way->id;
  print_line_(fmt::format("{} is under way for {} s, and {} more wait for it; --exec-timeout would end it",
                          status.under_way->what, age.count(), status.waiting));
}

void BackgroundReports::beat_task(const std::string& task) {
  next_task_beat_ = clock_.steady() + options_.task_beat;
  const auto interest = api_->beat_delegation(task);
  if (interest.has_error()) {
    // After a network failure the next beat tries again. When the server does not know the task, there are no more
    // beats.
    if (interest.error().is_status(404)) task_watch_ = TaskWatch::closed;
    return;
  }
  if (*interest == ApiClient::TaskInterest::unwanted) return give_up(task, "was cancelled, or is overdue");
  if (*interest == ApiClient::TaskInterest::wanted) return;
  task_watch_ = TaskWatch::closed;
  print_line_("task " + task + " was given up as silent; an answer to it is kept as a late one");
}

void BackgroundReports::give_up(const std::string& task, std::string_view why) {
  task_watch_ = TaskWatch::given_up;
  print_line_(fmt::format("task {} {}: its result is no longer wanted", task, why));
  give_up_(task);
}

bool BackgroundReports::send_replies() {
  while (const auto reply = ledger_.next_reply()) {
    const auto sent = send(*reply);
    if (sent.has_error()) {
      if (is_worth_another_try(sent.error())) return false;
      print_line_("the server refuses a reply: " + sent.error().sentence);
      const auto failure_sent = send_failure(*reply, sent.error());
      if (failure_sent.has_error() && is_worth_another_try(failure_sent.error())) return false;
    }
    ledger_.sent(reply->key);
    if (!reply->files.empty()) discard_folder(reply->files);
    send_pause_.reset();
  }
  return true;
}

client::Outcome<void> BackgroundReports::send(const Reply& given) {
  Reply reply = given;
  const auto files = send_files(reply);
  if (files.has_error()) return files.error();
  switch (reply.to) {
    case Reply::To::person:
      return api_->notify(reply.text.empty() ? "Here you are." : reply.text, *files, reply.key, reply.row);
    case Reply::To::agent:
      return api_->message(reply.target, reply.text, reply.hops, reply.key, *files);
    case Reply::To::delegation:
      return api_->end_delegation(reply.target, reply.failed ? ApiClient::Ended::failed : ApiClient::Ended::completed,
                                  reply.text, reply.key, *files);
  }
  return {};
}

client::Outcome<void> BackgroundReports::send_failure(const Reply& reply, const Failure& refusal) {
  if (reply.to != Reply::To::delegation || reply.failed || !leaves_task_open(refusal)) return {};
  return api_->end_delegation(reply.target, ApiClient::Ended::failed,
                              "The agent has a result that the server refuses: " + refusal.sentence,
                              reply.key + "-refused", {});
}

client::Outcome<std::vector<Json>> BackgroundReports::send_files(Reply& reply) {
  std::vector<Json> sent;
  if (reply.files.empty()) return sent;
  auto [files, refused] = find_result_files(reply.files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    // On a slow connection one file takes minutes, and the task must not seem silent.
    if (i > 0 && reply.to == Reply::To::delegation) (void)api_->beat_delegation(reply.target);
    const auto key = fmt::format("{}-{}-{}", reply.key, i, files[i].size);
    auto staged = api_->stage_files({files[i].path}, [](std::uint64_t, std::uint64_t) { return true; }, key);
    if (staged.has_value()) {
      std::ranges::move(*staged, std::back_inserter(sent));
      continue;
    }
    const Failure& failure = staged.error();
    // A full quota may stay full for a day: the text is sent without the file.
    if (is_worth_another_try(failure) && failure.status != 507) return failure;
    refused.push_back(std::filesystem::path(files[i].path).filename().string() + ": " + failure.sentence);
  }
  for (const auto& why : refused) {
    reply.text += (reply.text.empty() ? "" : "\n") + ("[not attached: " + why + "]");
    print_line_("not attached: " + why);
  }
  return sent;
}

void BackgroundReports::write_end(std::string_view word, std::string_view sentence) {
  ledger_.write_health(health(word, sentence));
}

std::string BackgroundReports::health(std::string_view end, std::string_view sentence) {
  const auto deliveries = deliveries_ ? deliveries_() : DeliveryStatus();
  const auto counts = ledger_.counts();
  const MutexLock lock(mutex_);
  JsonWriter out;
  out.begin_object();
  out.member("server", server_);
  out.member("process", static_cast<std::int64_t>(getpid()));
  out.member("since", started_);
  out.member("noted_at", clock_.now());
  out.member_or_null("last_poll_at", last_poll_);
  out.member("trouble", trouble_);
  out.member("waiting_files", static_cast<std::int64_t>(counts.waiting_files));
  out.member("unsent_replies", static_cast<std::int64_t>(counts.unsent_replies));
  out.member("waiting_deliveries", static_cast<std::int64_t>(deliveries.waiting));
  if (deliveries.under_way) {
    out.object("under_way", [&] {
      out.member("id", deliveries.under_way->id);
      out.member("what", deliveries.under_way->what);
      out.member("since", deliveries.under_way->since);
      out.member_if("trouble", deliveries.under_way->trouble);
    });
  }
  out.member_if("ended", end);
  out.member_if("why", sentence);
  out.end_object();
  return out.take() + "\n";
}

}  // namespace restante::agent
