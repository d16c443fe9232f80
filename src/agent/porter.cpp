#include "agent/porter.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/backoff.h"
#include "agent/result_files.h"

namespace restante::agent {
namespace {

using Where = FileRecord::Where;
using std::chrono::steady_clock;

// How often a wait looks whether it is to end: Stop wakes no condition variable.
constexpr std::chrono::milliseconds kLookEvery{200};

bool is_on_its_way(const FileRecord& file) { return file.where == Where::waiting && file.trouble != "failed"; }

// Files that are not here and of which the agent should hear even if no message names them. One that somebody else has
// taken is no news.
bool has_trouble_to_tell(const FileRecord& file) {
  if (file.told) return false;
  return file.trouble == "failed" || file.trouble == "expired" || file.trouble == "recalled";
}

bool goes_alone(const FileRecord& file) {
  return file.where == Where::landed ? !file.handed_over : has_trouble_to_tell(file);
}

bool names(const Row& row, FileId id) {
  const auto uris = file_uris(row.request_body);
  return std::any_of(uris.begin(), uris.end(), [&](const std::string& uri) { return pending_file(uri) == id; });
}

bool is_worth_asking_again(const client::Failure& failure) {
  using Kind = client::Failure::Kind;
  return is_open(failure) || failure.kind == Kind::cancelled || (failure.kind == Kind::status && failure.status == 401);
}

Delivery as_ended(Delivery delivery, const Platform::TaskView& task) {
  delivery.type = "ended";
  delivery.status = task.status;
  delivery.reason = task.why;
  return delivery;
}

change::Handed end_of(const Delivery& delivery) {
  change::Handed end;
  end.id = delivery.id;
  end.created_at = delivery.created_at;
  for (const auto& file : delivery.files) {
    if (!file.id) continue;
    if (file.state == "landed") end.files.push_back(*file.id);
    if (file.state != "landed" && file.state != "missing") end.told.push_back(*file.id);
  }
  return end;
}

}  // namespace

Porter::Porter(PorterOptions options, Ledger& ledger, Handover& handover, Stop& stop, Note progress, Note closed,
               Ask ask, Task task, Say say)
    : options_(options),
      ledger_(ledger),
      handover_(handover),
      stop_(stop),
      progress_(std::move(progress)),
      closed_(std::move(closed)),
      ask_(std::move(ask)),
      task_(std::move(task)),
      say_(std::move(say)) {}

Porter::~Porter() { join(); }

void Porter::start() {
  thread_ = std::thread([this] { work(); });
}

void Porter::join() {
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Porter::take(Row message) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  changed_.notify_all();
}

void Porter::take(FileId file) {
  const auto record = ledger_.file(file);
  {
    const std::lock_guard lock(mutex_);
    const bool begun = record && ledger_.has_begun(deliver_file(*record).id);
    const auto grace = begun ? std::chrono::milliseconds(0) : options_.file_grace;
    if (record && goes_alone(*record)) files_.try_emplace(file.text(), steady_clock::now() + grace);
  }
  changed_.notify_all();
}

std::vector<Row> Porter::waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> rows;
  std::copy_if(messages_.begin(), messages_.end(), std::back_inserter(rows),
               [this](const Row& row) { return !expected_.contains(result_of(row)); });
  return rows;
}

std::size_t Porter::waiting_count() const {
  const std::lock_guard lock(mutex_);
  return messages_.size();
}

std::optional<std::int64_t> Porter::first_waiting() const {
  const std::lock_guard lock(mutex_);
  return messages_.empty() ? std::nullopt : std::optional(messages_.front().seq);
}

void Porter::work() {
  std::unique_lock lock(mutex_);
  bool taker = false;
  while (!stop_.requested()) {
    const auto now = steady_clock::now();
    const auto file = next_file(now);
    const auto message = next_message();
    const bool ready = message != messages_.end() && is_ready(*message, now);
    if (!file && !ready) {
      const auto look = now + kLookEvery;
      changed_.wait_until(lock, std::min(look, next_moment().value_or(look)));
      continue;
    }
    if (!taker) {
      // Chosen anew afterwards: hours may have passed, and what goes then is told as it is then.
      lock.unlock();
      taker = handover_.await_taker();
      lock.lock();
      continue;
    }
    taker = false;
    auto went = Went::handed;
    if (file && (!ready || comes_before(*file, *message))) {
      files_.erase(file->text());
      lock.unlock();
      went = hand_over_file(*file);
    } else {
      const auto row = *message;
      lock.unlock();
      went = hand_over_message(row);
      if (went == Went::handed) drop(row.id);
    }
    if (went == Went::closed) return closed_();
    if (went == Went::handed) progress_();
    lock.lock();
  }
}

// The first that nobody expects for himself.
std::deque<Row>::iterator Porter::next_message() {
  if (expected_.empty()) return messages_.begin();
  return std::find_if(messages_.begin(), messages_.end(),
                      [this](const Row& row) { return !expected_.contains(result_of(row)); });
}

void Porter::drop(const std::string& row_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(messages_, [&](const Row& row) { return row.id == row_id; });
  waiting_since_.reset();
}

void Porter::expect_result(const std::string& delegation) {
  const std::lock_guard lock(mutex_);
  expected_.insert(delegation);
}

void Porter::expect_no_more(const std::string& delegation) {
  {
    const std::lock_guard lock(mutex_);
    expected_.erase(delegation);
  }
  changed_.notify_all();
}

std::optional<Row> Porter::wait_for_result(const std::string& delegation, std::chrono::milliseconds time) {
  const auto until = steady_clock::now() + time;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found =
        std::find_if(messages_.begin(), messages_.end(), [&](const Row& row) { return result_of(row) == delegation; });
    if (found != messages_.end() && !has_files_on_their_way(*found)) return *found;
    if (stop_.requested() || changed_.wait_until(lock, until) == std::cv_status::timeout) return {};
  }
}

Delivery Porter::begin_result(const Row& row) {
  auto delivery = ledger_.compose(row);
  delivery.again = ledger_.begin(delivery.id) == Ledger::Begun::again;
  return delivery;
}

void Porter::end_result(const Delivery& delivery) {
  ledger_.handed(end_of(delivery));
  drop(delivery.id);
  progress_();
}

std::vector<FileId> Porter::waiting_files() const {
  const std::lock_guard lock(mutex_);
  std::vector<FileId> ids;
  for (const auto& [text, due] : files_) ids.push_back(FileId::parse(text).value());
  return ids;
}

// One whose time has come and that none of the waiting messages will bring. Never before a message that was begun when
// an earlier agent was killed: its command may still run.
std::optional<FileId> Porter::next_file(Moment now) {
  if (!messages_.empty() && ledger_.has_begun(messages_.front().id)) return {};
  for (const auto& [text, due] : files_) {
    const auto id = FileId::parse(text).value();
    if (due > now) continue;
    if (std::none_of(messages_.begin(), messages_.end(), [&](const Row& row) { return names(row, id); })) return id;
  }
  return {};
}

bool Porter::comes_before(FileId id, const Row& message) const {
  const auto file = ledger_.file(id);
  return !file || file->seq < message.seq;
}

std::optional<Porter::Moment> Porter::next_moment() const {
  std::optional<Moment> next;
  for (const auto& [id, due] : files_) {
    if (due > steady_clock::now() && (!next || due < *next)) next = due;
  }
  return next;
}

bool Porter::is_ready(const Row& row, Moment now) {
  if (!waiting_since_) waiting_since_ = now;
  return now - *waiting_since_ >= options_.file_patience || !has_files_on_their_way(row);
}

bool Porter::has_files_on_their_way(const Row& row) const {
  const auto uris = file_uris(row.request_body);
  return std::any_of(uris.begin(), uris.end(), [this](const std::string& uri) {
    const auto id = pending_file(uri);
    const auto file = id ? ledger_.file(*id) : std::nullopt;
    return file && is_on_its_way(*file);
  });
}

Porter::Went Porter::hand_over_message(const Row& row) {
  for (;;) {
    const auto task = ask(ledger_.compose(row));
    if (!task) return Went::stopped;
    // Composed after the answer, which may have taken hours: files go as they are then.
    if (handover_.has_taker()) return hand_over(ledger_.compose(row), *task);
    // Whoever was there has left meanwhile, and by when the next one comes this answer may be hours old.
    if (!handover_.await_taker()) return Went::stopped;
  }
}

Porter::Went Porter::hand_over_file(FileId id) {
  // A message may have taken it along since.
  const auto file = ledger_.file(id);
  return file && goes_alone(*file) ? hand_over(deliver_file(*file), {}) : Went::handed;
}

// How its task stands. A server that cannot be asked is asked until it can be: what was cancelled meanwhile must not be
// begun. Whatever is no task, or none that the server knows, is wanted. No value: told to stop.
std::optional<Platform::TaskView> Porter::ask(const Delivery& delivery) {
  if (!is_task(delivery)) return Platform::TaskView();
  Backoff pause(options_.pause_first, options_.pause_most);
  for (bool said = false;; said = true) {
    const auto answer = ask_(delivery.delegation_id);
    if (answer.has_value()) return *answer;
    if (!is_worth_asking_again(answer.error())) return Platform::TaskView();
    if (stop_.requested()) return {};
    if (!said) {
      say_(fmt::format("task {} waits until the server tells whether it is still wanted: {}", delivery.delegation_id,
                       answer.error().sentence));
    }
    if (stop_.wait_for(pause.next())) return {};
  }
}

Porter::Went Porter::hand_over(Delivery delivery, Platform::TaskView task) {
  delivery.again = ledger_.begin(delivery.id) == Ledger::Begun::again;
  auto end = end_of(delivery);
  Backoff pause(options_.pause_first, options_.pause_most);
  for (int attempt = 1;; ++attempt) {
    auto verdict = deliver(delivery, task);
    switch (verdict.what) {
      case Verdict::What::stopped:
        return Went::stopped;
      case Verdict::What::closed:
        say_("nobody takes what arrives: " + verdict.trouble);
        return Went::closed;
      case Verdict::What::handled:
        if (!verdict.reply.empty() || !verdict.files.empty()) {
          end.reply = reply_to(delivery, std::move(verdict.reply));
          if (!end.reply) discard_folder(verdict.files);
          if (end.reply) end.reply->files = std::move(verdict.files);
        }
        ledger_.handed(end);
        handover_.ended(delivery);
        return Went::handed;
      case Verdict::What::dropped:
        say_(verdict.trouble);
        ledger_.handed(end);
        handover_.ended(delivery);
        return Went::handed;
      case Verdict::What::untaken: {
        const auto stands = handover_.await_taker() ? ask(delivery) : std::nullopt;
        if (!stands) return Went::stopped;
        task = *stands;
        --attempt;
        continue;
      }
      case Verdict::What::failed:
        break;
    }
    say_(fmt::format("{} (attempt {} of {})", verdict.trouble, attempt, options_.attempts));
    if (attempt >= options_.attempts) {
      // One poisonous message must not hold up all the others; its sender hears of it.
      end.reply = apology_for(delivery, verdict.trouble);
      ledger_.handed(end);
      handover_.ended(delivery);
      return Went::handed;
    }
    delivery.again = true;
    if (stop_.wait_for(pause.next())) return Went::stopped;
    const auto stands = ask(delivery);
    if (!stands) return Went::stopped;
    task = *stands;
  }
}

Verdict Porter::deliver(const Delivery& delivery, const Platform::TaskView& task) {
  using Standing = Platform::Standing;
  // One that was given up as silent is finished if it was begun, since a late answer is welcome; not begun any more.
  if (task.standing == Standing::unwanted || (task.standing == Standing::late && !handover_.has_begun(delivery)))
    return handover_.pass_over(as_ended(delivery, task));
  const bool works = is_task(delivery) && handover_.works();
  if (works) task_(delivery.delegation_id, task.left);
  auto verdict = handover_.deliver(delivery);
  if (works) task_({}, {});
  return verdict;
}

std::optional<Reply> Porter::reply_to(const Delivery& delivery, std::string text) {
  Reply reply;
  reply.key = "reply-" + delivery.id;
  reply.text = std::move(text);
  if (!delivery.delegation_id.empty() && delivery.type == "message") {
    reply.to = Reply::To::delegation;
    reply.target = delivery.delegation_id;
  } else if (delivery.source_id) {
    if (options_.agents == PorterOptions::Agents::not_answered || delivery.type == "result") {
      say_("the answer to another agent is not sent; --reply-to-agents would");
      return {};
    }
    const auto hops = ledger_.next_hop(delivery);
    if (!hops) {
      say_(fmt::format("agent {} is not answered any more: {} automatic answers in a row are enough",
                       *delivery.source_id, kMostHops));
      return {};
    }
    reply.to = Reply::To::agent;
    reply.target = *delivery.source_id;
    reply.hops = *hops;
  }
  return reply;
}

std::optional<Reply> Porter::apology_for(const Delivery& delivery, const std::string& trouble) const {
  Reply reply;
  reply.key = "failed-" + delivery.id;
  reply.text = "The agent could not handle this: " + trouble + ".";
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
