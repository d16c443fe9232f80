#include "agent/pulse.h"

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

// A reply that was refused for good must not keep the next ones waiting.
bool is_worth_another_try(const Failure& failure) {
  if (is_open(failure) || failure.kind == Failure::Kind::cancelled) return true;
  return failure.kind == Failure::Kind::status && (failure.status == 401 || failure.code == "idempotency_in_progress");
}

// Of a result that was refused. A task that is over, or that nobody knows, waits for nothing.
bool leaves_task_open(const Failure& refusal) {
  return refusal.kind == Failure::Kind::status && refusal.status >= 400 && refusal.status < 500 &&
         refusal.status != 404 && refusal.status != 409;
}

}  // namespace

Pulse::Pulse(PulseOptions options, Ledger& ledger, const Clock& clock, std::function<void()> reconnect, GiveUp give_up,
             Say say)
    : options_(options),
      ledger_(ledger),
      clock_(clock),
      reconnect_(std::move(reconnect)),
      give_up_(std::move(give_up)),
      say_(std::move(say)),
      alive_at_(clock.steady()),
      started_(clock.now()),
      last_wall_(started_),
      last_steady_(clock.steady()),
      next_beat_(last_steady_),
      next_send_(last_steady_),
      send_pause_(options.pause_first, options.pause_most) {}

Pulse::~Pulse() { stop(); }

void Pulse::start(std::unique_ptr<Platform> platform, std::string server) {
  platform_ = std::move(platform);
  server_ = std::move(server);
  thread_ = std::thread([this] { work(); });
}

void Pulse::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (platform_) platform_->cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Pulse::poll_completed() {
  {
    const std::lock_guard lock(mutex_);
    last_poll_ = clock_.now();
    alive_at_ = clock_.steady();
    trouble_.clear();
  }
  ledger_.note_health(health());
}

void Pulse::note_trouble(std::string sentence) {
  {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(sentence);
    alive_at_ = clock_.steady();  // it was given up, not forgotten
  }
  ledger_.note_health(health());
}

void Pulse::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Pulse::works_on(const std::string& delegation, std::optional<std::chrono::milliseconds> left) {
  const std::lock_guard lock(mutex_);
  task_ = delegation;
  task_due_ = left ? std::optional(clock_.steady() + *left) : std::nullopt;
}

void Pulse::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    look_at_clocks();
    const auto now = clock_.steady();
    if (now >= next_send_ && !send_replies()) next_send_ = clock_.steady() + send_pause_.next();
    if (now >= next_beat_) beat();
    watch_task();
    lock.lock();
    if (!stopping_ && !woken_) changed_.wait_for(lock, std::min(kTick, options_.beat));
  }
}

void Pulse::look_at_clocks() {
  const auto wall = clock_.now();
  const auto steady = clock_.steady();
  const auto slept = (wall - last_wall_) - std::chrono::duration_cast<std::chrono::microseconds>(steady - last_steady_);
  last_wall_ = wall;
  last_steady_ = steady;
  bool deaf = false;
  {
    const std::lock_guard lock(mutex_);
    deaf = steady - alive_at_ > options_.deaf_after;
    if (deaf) alive_at_ = steady;
  }
  if (slept > options_.sleep_gap) {
    next_beat_ = next_send_ = steady;
    say_("this machine was asleep; connecting anew");
    reconnect_();
  } else if (deaf) {
    say_("no poll has been answered for a while; connecting anew");
    reconnect_();
  }
}

void Pulse::beat() {
  next_beat_ = clock_.steady() + options_.beat;
  // A missed beat is not worth a word: the poll notices the same trouble and says so.
  (void)platform_->beat(std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_));
}

void Pulse::watch_task() {
  std::string task;
  std::optional<SteadyTime> due;
  {
    const std::lock_guard lock(mutex_);
    task = task_;
    due = task_due_;
  }
  const auto now = clock_.steady();
  if (task != std::exchange(beaten_task_, task)) {
    eye_ = Eye::open;
    next_task_beat_ = now + options_.task_beat;
  }
  if (task.empty()) return;
  // Once more at every look: the first word may have come before its command was there to hear it.
  if (eye_ == Eye::given_up) return give_up_(task);
  // The server notices at its next sweep only.
  if (due && now >= *due) return give_up(task, "is overdue");
  if (eye_ == Eye::open && now >= next_task_beat_) beat_for(task);
}

void Pulse::beat_for(const std::string& task) {
  next_task_beat_ = clock_.steady() + options_.task_beat;
  const auto stands = platform_->beat_delegation(task);
  if (stands.has_error()) {
    // A server that cannot be asked just now is asked at the next beat; one that knows no such task, never again.
    if (stands.error().kind == Failure::Kind::status && stands.error().status == 404) eye_ = Eye::closed;
    return;
  }
  if (*stands == Platform::Standing::unwanted) return give_up(task, "was cancelled, or is overdue");
  if (*stands == Platform::Standing::wanted) return;
  eye_ = Eye::closed;
  say_("task " + task + " was given up as silent; an answer to it is kept as a late one");
}

void Pulse::give_up(const std::string& task, std::string_view why) {
  eye_ = Eye::given_up;
  say_(fmt::format("task {} {}: nobody waits for its end", task, why));
  give_up_(task);
}

bool Pulse::send_replies() {
  while (const auto reply = ledger_.next_reply()) {
    const auto sent = send(*reply);
    if (sent.has_error()) {
      if (is_worth_another_try(sent.error())) return false;
      say_("the server refuses a reply: " + sent.error().sentence);
      const auto told = send_failure(*reply, sent.error());
      if (told.has_error() && is_worth_another_try(told.error())) return false;
    }
    ledger_.sent(reply->key);
    if (!reply->files.empty()) discard_folder(reply->files);
    send_pause_.reset();
  }
  return true;
}

client::Outcome<void> Pulse::send(const Reply& given) {
  Reply reply = given;
  const auto files = send_files(reply);
  if (files.has_error()) return files.error();
  switch (reply.to) {
    case Reply::To::person:
      return platform_->notify(reply.text.empty() ? "Here you are." : reply.text, *files, reply.key);
    case Reply::To::agent:
      return platform_->message(reply.target, reply.text, reply.hops, reply.key, *files);
    case Reply::To::delegation:
      return platform_->end_delegation(reply.target,
                                       reply.failed ? Platform::Ended::failed : Platform::Ended::completed, reply.text,
                                       reply.key, *files);
  }
  return {};
}

client::Outcome<void> Pulse::send_failure(const Reply& reply, const Failure& refusal) {
  if (reply.to != Reply::To::delegation || reply.failed || !leaves_task_open(refusal)) return {};
  return platform_->end_delegation(reply.target, Platform::Ended::failed,
                                   "The agent has a result that the server refuses: " + refusal.sentence,
                                   reply.key + "-refused", {});
}

client::Outcome<std::vector<Json>> Pulse::send_files(Reply& reply) {
  std::vector<Json> sent;
  if (reply.files.empty()) return sent;
  auto [files, refused] = find_result_files(reply.files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    // A slow line takes minutes for one of them, and the task must not seem silent.
    if (i > 0 && reply.to == Reply::To::delegation) (void)platform_->beat_delegation(reply.target);
    const auto key = fmt::format("{}-{}-{}", reply.key, i, files[i].size);
    auto staged = platform_->send_out({files[i].path}, [](std::uint64_t, std::uint64_t) { return true; }, key);
    if (staged.has_value()) {
      std::ranges::move(*staged, std::back_inserter(sent));
      continue;
    }
    const Failure& failure = staged.error();
    // A full quota may stay full for a day: the text must not wait for it.
    if (is_worth_another_try(failure) && failure.status != 507) return failure;
    refused.push_back(std::filesystem::path(files[i].path).filename().string() + ": " + failure.sentence);
  }
  for (const auto& why : refused) {
    reply.text += (reply.text.empty() ? "" : "\n") + ("[not attached: " + why + "]");
    say_("not attached: " + why);
  }
  return sent;
}

std::string Pulse::health() {
  const auto counts = ledger_.counts();
  const std::lock_guard lock(mutex_);
  JsonWriter out;
  out.begin_object();
  out.member("server", server_);
  out.member("process", static_cast<std::int64_t>(getpid()));
  out.member("since", format_time(started_));
  out.member("noted_at", format_time(clock_.now()));
  out.key("last_poll_at");
  last_poll_ ? out.string(format_time(*last_poll_)) : out.null();
  out.member("trouble", trouble_);
  out.member("waiting_files", static_cast<std::int64_t>(counts.waiting_files));
  out.member("unsent_replies", static_cast<std::int64_t>(counts.unsent_replies));
  out.end_object();
  return out.take() + "\n";
}

}  // namespace restante::agent
