#include "agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "agent/result_files.h"
#include "agent/self_test_steps.h"
#include "base/crypto.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/upload_names.h"

namespace restante::agent {
namespace {

using client::Failure;
using std::chrono::steady_clock;

// How many messages are read ahead of the hand-over; the rest stays on the server.
constexpr std::size_t kMostWaiting = 100;

constexpr std::string_view kNewLine =
    "Get a new line, by `Connect…` at this workspace on the page or by `restante invite --workspace …` on the server, "
    "and run it here: restante connect --enrol TOKEN";

// A 401 without an error code of the server comes from something in between, such as a hotel's sign-in page.
bool is_refusal(const Failure& failure, bool connected_before) {
  const bool from_server = !failure.code.empty() || !connected_before;
  return (failure.is_status(401) || failure.is_status(403)) && from_server;
}

// No value when the row lacks a member that is needed to fetch the file.
std::optional<FileRecord> record_of(const ReceivedRow& row) {
  FileRecord record;
  const auto id = FileId::parse(row.request_body.text("file_id"));
  const auto* size = row.request_body.find("size");
  if (!id || !size || size->integer().value_or(-1) < 0) return {};
  record.announced.id = *id;
  record.announced.name = sanitise_filename(row.request_body.text("name"));
  record.announced.size = static_cast<std::uint64_t>(*size->integer());
  record.announced.sha256 = row.request_body.text("sha256");
  record.uri = row.request_body.text("uri");
  record.row_id = row.id;
  record.seq = row.seq;
  record.created_at = row.created_at;
  return record;
}

FileRecord record_of(const PendingFile& file) {
  FileRecord record;
  record.announced = {file.id, sanitise_filename(file.name), file.size, file.sha256};
  record.uri = file.uri;
  record.row_id = file.id.text();
  record.created_at = file.created_at;
  return record;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "agent";
}

}  // namespace

Agent::Agent(Settings settings, StateDirectory directory, State state, Handover& handover, Stop& stop,
             PrintLine print_line)
    : settings_(std::move(settings)),
      ledger_(std::move(directory), std::move(state), print_line),
      stop_(stop),
      print_line_(std::move(print_line)),
      api_(settings_.server, {}, settings_.http),
      task_client_(settings_.server, {}, settings_.http),
      downloads_(
          settings_.downloads, ledger_, LandingFolder(settings_.dir), [this] { return connect(); },
          [this](FileId id) {
            if (caught_up_.load()) delivery_loop_.take(id);
          },
          print_line_),
      delivery_loop_(
          settings_.delivery, ledger_, handover, stop_,
          [this] {
            {
              const MutexLock lock(mutex_);
            }
            progressed_.notify_all();
            reports_.wake();
          },
          [this] {
            {
              const MutexLock lock(mutex_);
              requested_end_ = End::reader_gone;
            }
            stop_.request();
          },
          [this, &handover](const Delivery& message) {
            // An agent that only hands a task on does not work on it: if we reported in_progress, the task would become
            // stuck.
            return handover.returns_when_done() ? task_client_.begin_delegation(message)
                                                : task_client_.view_delegation(message);
          },
          [this](const std::string& delegation, std::optional<std::chrono::milliseconds> left) {
            reports_.set_current_task(delegation, left);
          },
          print_line_),
      reports_(
          settings_.reports, ledger_, clock_,
          [this] {
            api_.hang_up();
            task_client_.hang_up();
            downloads_.retry_now();
          },
          [this](const std::string& delegation) { delivery_loop_.give_up(delegation); }, print_line_),
      backoff_(settings_.backoff_first, settings_.backoff_most) {
  if (settings_.name.empty()) settings_.name = host_name();
  reports_.inspect_deliveries([this] { return delivery_loop_.status(); });
}

End Agent::run() {
  std::thread stop_watcher([this] {
    stop_.wait();
    api_.cancel();
    task_client_.cancel();
    {
      const MutexLock lock(mutex_);
    }  // a thread in wait_for_progress() has seen the stop, or waits already
    progressed_.notify_all();
  });
  auto end = register_agent();
  if (!end && !stop_.requested()) begin();
  while (!end && !stop_.requested()) end = poll_once();
  {
    const MutexLock lock(mutex_);
    final_end_ = end.value_or(End::stopped);
  }
  stop_.request();
  stop_watcher.join();
  downloads_.stop();
  delivery_loop_.join();
  reports_.stop();
  if (begun_) move_cursor();
  if (!end_word_.empty()) reports_.write_end(end_word_, end_sentence_);
  const MutexLock lock(mutex_);
  return requested_end_ ? *requested_end_ : end.value_or(End::stopped);
}

// An enrolment token works once. The same command line can be run again: the token that it gave is used.
std::string Agent::choose_token() {
  if (!settings_.token.empty()) return settings_.token;
  const auto kept = ledger_.token();
  if (kept.has_error()) print_line_(kept.error().sentence);
  const auto enrolled = settings_.enrol.empty() ? std::string() : to_hex(sha256(settings_.enrol));
  if (kept.has_value() && !kept->empty() && (enrolled.empty() || enrolled == ledger_.enrolled())) return *kept;
  return settings_.enrol;
}

std::optional<End> Agent::register_agent() {
  const auto token = choose_token();
  if (token.empty()) {
    print_line_("no token yet: give --enrol with the token that `New agent` on the page shows, or --token-file");
    return End::not_permitted;
  }
  api_.use_token(token);
  const auto known = ledger_.workspace();
  const auto& wanted = settings_.workspace.empty() ? known : settings_.workspace;
  connected_before_ = !known.empty();
  if (token == settings_.enrol) {
    if (const auto end = check_before_enrolling()) return end;
  }
  while (!stop_.requested()) {
    const auto made = api_.register_agent(token == settings_.enrol ? settings_.workspace : wanted, settings_.name);
    if (made.has_value()) {
      if (!set_identity(*made, token)) return End::refused;
      return find_start_position();
    }
    if (token == settings_.enrol && made.error().is_status(401) && is_refusal(made.error(), connected_before_)) {
      print_line_("the server does not take this enrolment token: it was used, has expired, or is another server's. " +
                  std::string(kNewLine));
      return End::not_permitted;
    }
    if (auto end = handle_failure(made.error())) return end;
  }
  return End::stopped;
}

std::optional<End> Agent::check_before_enrolling() {
  const auto refuse = [&](const std::string& why) {
    print_line_(why + ". The enrolment token was not used: the same line works once this is solved");
    return End::refused;
  };
  if (const auto landing = LandingFolder(settings_.dir).check(); landing.has_error())
    return refuse("files cannot be stored below --dir: " + landing.error().sentence);
  if (const auto writable = ledger_.check_writable(); writable.has_error())
    return refuse("the token could not be kept: " + writable.error().sentence);
  const auto known = ledger_.workspace();
  const auto session = known.empty() ? client::Outcome<Json>(Json()) : api_.get("/session");
  if (session.has_error() || session->text("role") != "enrolment") return {};
  const auto bound = session->text("workspace_id");
  if (bound == known) return {};
  return refuse(
      fmt::format("this state belongs to workspace {}, the enrolment token to {}; without --state every agent "
                  "has its own",
                  known, bound.empty() ? "a new one" : bound));
}

bool Agent::set_identity(const RegistrationAnswer& registration, const std::string& token) {
  const auto known = ledger_.workspace();
  if (!known.empty() && known != registration.workspace_id) {
    print_line_("this state belongs to workspace " + known + ", the token to " + registration.workspace_id +
                "; give another --state");
    return false;
  }
  token_ = token;
  auto enrolled = ledger_.enrolled();
  if (!registration.auth_token.empty()) {
    if (const auto kept = ledger_.keep_token(registration.auth_token); kept.has_error()) {
      print_line_("the token cannot be kept: " + kept.error().sentence);
      return false;
    }
    token_ = registration.auth_token;
    if (!settings_.enrol.empty()) enrolled = to_hex(sha256(settings_.enrol));
  }
  api_.use_token(token_);
  api_.use_workspace(registration.workspace_id);
  ledger_.set_identity(settings_.server.text(), registration.workspace_id, enrolled);
  connected_before_ = true;
  return true;
}

// Where an agent without state begins: after the last row that the server knows to be acked, and with the files that
// wait on the server.
std::optional<End> Agent::find_start_position() {
  while (!stop_.requested()) {
    const auto largest = api_.largest_file();
    if (largest.has_value()) largest_file_ = *largest;
    if (ledger_.started()) {
      find_cursor_row();
      return {};
    }
    const auto acked = api_.last_acked();
    const auto files = acked.has_value() && *acked > 0 ? api_.waiting() : std::vector<PendingFile>();
    std::optional<Failure> failure;
    if (acked.has_error()) failure = acked.error();
    if (files.has_error()) failure = files.error();
    if (failure && (may_yet_succeed(*failure) || failure->kind == Failure::Kind::cancelled)) {
      if (auto end = handle_failure(*failure)) return end;
      continue;
    }
    if (files.has_value()) {
      for (const auto& file : *files) ledger_.announce(record_of(file));
    }
    const std::int64_t start = acked.has_value() ? *acked : 0;
    const auto row = start > 0 ? api_.row_at(start) : std::string();
    if (row.has_error() && (may_yet_succeed(row.error()) || row.error().kind == Failure::Kind::cancelled)) {
      if (auto end = handle_failure(row.error())) return end;
      continue;
    }
    ledger_.set_cursor(start, row.has_value() ? *row : std::string());
    return {};
  }
  return End::stopped;
}

Agent::ConnectionStatus Agent::connection_status() const {
  ConnectionStatus status;
  status.caught_up = caught_up_.load();
  const MutexLock lock(mutex_);
  status.trouble = trouble_;
  status.end = final_end_ ? final_end_ : requested_end_;
  return status;
}

Agent::ConnectionStatus Agent::wait_until_caught_up(std::chrono::milliseconds time) const {
  const auto until = steady_clock::now() + time;
  {
    MutexLock lock(mutex_);
    while (!caught_up_.load() && !final_end_ && trouble_.empty() && !stop_.requested()) {
      if (progressed_.wait_until(lock, until) == std::cv_status::timeout) break;
    }
  }
  return connection_status();
}

std::unique_ptr<ApiClient> Agent::open_client() const { return begun_.load() ? connect() : nullptr; }

std::vector<Delivery> Agent::waiting() const {
  std::vector<Delivery> deliveries;
  for (auto& row : delivery_loop_.waiting()) deliveries.push_back(ledger_.compose(std::move(row)));
  for (const auto id : delivery_loop_.waiting_files()) {
    if (const auto file = ledger_.file(id)) deliveries.push_back(deliver_file(*file));
  }
  std::sort(deliveries.begin(), deliveries.end(),
            [](const Delivery& a, const Delivery& b) { return std::tie(a.seq, a.id) < std::tie(b.seq, b.id); });
  return deliveries;
}

std::vector<FileRecord> Agent::files() const {
  const auto state = ledger_.state();
  return {state.files.begin(), state.files.end()};
}

void Agent::poll_now() {
  {
    const MutexLock lock(mutex_);
    poll_now_ = true;
  }
  progressed_.notify_all();
}

std::optional<std::int64_t> Agent::next_hop_to(const std::string& peer) const {
  const auto state = ledger_.state();
  const auto last = std::find_if(state.origins.rbegin(), state.origins.rend(),
                                 [&](const Origin& origin) { return origin.source_id == peer; });
  if (last == state.origins.rend() || last->hops == 0) return 0;
  return next_hop(state.answered, peer, last->hops, last->created_at);
}

std::string Agent::answer(const AnswerLine& line) {
  // The program may answer before the end of its hand-over is recorded.
  while (!line.reply_to.empty() && ledger_.has_begun(line.reply_to)) {
    if (stop_.wait_for(std::chrono::milliseconds(10))) return "the agent stops";
  }
  Reply reply;
  reply.key = "answer-" + fresh_key();
  reply.text = line.text;
  reply.failed = line.failed;
  if (!line.files.empty()) {
    reply.files = settings_.answers + "/" + reply.key;
    for (const auto& why : collect_files(line.files, reply.files)) {
      reply.text += (reply.text.empty() ? "" : "\n") + ("[not attached: " + why + "]");
      print_line_("not attached: " + why);
    }
  }
  auto trouble = ledger_.answer(line.reply_to, reply);
  if (!trouble.empty() && !reply.files.empty()) discard_folder(reply.files);
  reports_.wake();
  return trouble;
}

void Agent::set_trouble(std::string trouble) {
  {
    const MutexLock lock(mutex_);
    trouble_ = std::move(trouble);
  }
  progressed_.notify_all();
}

std::unique_ptr<ApiClient> Agent::connect() const {
  auto api = std::make_unique<ApiClient>(settings_.server, token_, settings_.http);
  api->use_workspace(ledger_.workspace());
  return api;
}

void Agent::begin() {
  begun_.store(true);
  task_client_.use_token(token_);
  task_client_.use_workspace(ledger_.workspace());
  downloads_.start(largest_file_);
  for (const auto& file : ledger_.unfinished_files()) downloads_.enqueue(file.announced.id);
  delivery_loop_.start();
  reports_.start(connect(), settings_.server.text());
  // The name is for people; without it the id is enough.
  const auto described = api_.describe();
  const auto name = described.has_value() ? described->text("name") : std::string();
  print_line_(fmt::format("connected to {} as {} (workspace {})", settings_.server.text(),
                          name.empty() ? "an agent" : name, ledger_.workspace()));
  print_line_(
      fmt::format("files land in {}; to stop: Ctrl-C, or SIGTERM to process {}. The next start goes on from there",
                  LandingFolder(settings_.dir).path(), getpid()));
}

std::optional<End> Agent::handle_failure(const Failure& failure) {
  if (failure.kind == Failure::Kind::cancelled) return End::stopped;
  if (is_refusal(failure, connected_before_)) {
    print_line_("the server does not take this token (" + failure.sentence +
                "); it was revoked, or is another server's. " + std::string(kNewLine));
    return end_for_good("revoked", failure.sentence, End::not_permitted);
  }
  if (failure.code == "workspace_removed") {
    print_line_("this workspace was removed from the server");
    return end_for_good("removed", failure.sentence, End::refused);
  }
  if (!failure.passes() && !connected_before_) {
    print_line_(settings_.server.text() + " does not work as a Restante server: " + failure.sentence);
    return End::refused;
  }
  if (!std::exchange(unreachable_, true)) print_line_(failure.sentence + "; trying again until it works");
  set_trouble(failure.sentence);
  if (begun_) reports_.set_trouble(failure.sentence);
  const auto pause = backoff_.next();
  stop_.wait_for(std::max(pause, std::chrono::milliseconds(failure.retry_after.value_or(std::chrono::seconds(0)))));
  return {};
}

End Agent::end_for_good(std::string word, std::string sentence, End end) {
  end_word_ = std::move(word);
  end_sentence_ = std::move(sentence);
  return end;
}

std::optional<End> Agent::poll_once() {
  move_cursor();
  const bool busy = delivery_loop_.waiting_count() > 0;
  if (busy) wait_for_progress();
  if (stop_.requested()) return {};
  move_cursor();
  // While a delivery waits, the cursor stays before it, and the server would answer a held poll at once. The first poll
  // is not held, so that an empty inbox is known soon.
  const bool held = caught_up_.load() && delivery_loop_.waiting_count() == 0;
  const auto wait = held ? settings_.poll_wait : std::chrono::seconds(0);
  const auto polled_at = steady_clock::now();
  const Position cursor = ledger_.position();
  auto rows = api_.poll(cursor.seq, cursor.row, wait);
  if (rows.has_error()) {
    const auto failure = rows.error();
    if (!failure.is_status(410) || failure.code == "workspace_removed" || cursor.seq == 0)
      return handle_failure(failure);
    // A delivery in progress has a seq from before the reread.
    if (delivery_loop_.waiting_count() == 0) reread();
    return {};
  }
  backoff_.reset();
  set_trouble({});
  reports_.poll_completed();
  if (std::exchange(unreachable_, false)) {
    print_line_("reached " + settings_.server.text() + " again");
    downloads_.retry_now();
  }
  const bool empty = rows->empty();
  if (!caught_up_.load()) {
    // Deliveries that an earlier process has begun go first.
    for (const auto& file : ledger_.unfinished_files()) {
      if (ledger_.has_begun(deliver_file(file).id)) delivery_loop_.take(file.announced.id);
    }
  }
  take(std::move(*rows));
  if (!caught_up_.exchange(true)) {
    // Only now: a message that names a file of an earlier run may have been in this answer.
    for (const auto& file : ledger_.unfinished_files()) delivery_loop_.take(file.announced.id);
    set_trouble({});  // wakes wait_until_caught_up()
  }
  // A server that shuts down, or does not know `wait`, answers at once: do not ask a thousand times a second.
  if (empty && wait.count() > 0 && steady_clock::now() - polled_at < std::chrono::milliseconds(200))
    stop_.wait_for(std::chrono::seconds(1));
  return {};
}

void Agent::take(std::vector<ReceivedRow> rows) {
  for (auto& row : rows) {
    if (was_read(row)) continue;
    if (delivery_loop_.waiting_count() >= kMostWaiting) return;
    ahead_.push_back({row.seq, row.id});
    if (row.method == "chat_upload_receive") {
      take_file(row);
    } else if (row.method != "notify" && !is_self_test(row, ledger_.workspace()) && !ledger_.has_seen(row)) {
      delivery_loop_.take(std::move(row));  // a notify row is our own message
    }
  }
}

// By its id: when an older copy of the server's database was restored while deliveries wait, new rows have the numbers
// of rows that were read.
bool Agent::was_read(const ReceivedRow& row) const {
  return std::any_of(ahead_.begin(), ahead_.end(),
                     [&](const Position& read) { return read.seq == row.seq && read.row == row.id; });
}

void Agent::take_file(const ReceivedRow& row) {
  auto record = record_of(row);
  if (!record) return print_line_("a file was announced without a valid id or size; it is skipped");
  record->handed_over = record->notified = is_self_test(row, ledger_.workspace());
  if (ledger_.announce(*record)) downloads_.enqueue(record->announced.id);
}

void Agent::reread() {
  print_line_(
      "the server no longer knows our position in the inbox; reading it again, without what was already handed over");
  ahead_.clear();
  ledger_.set_cursor(0);
}

void Agent::find_cursor_row() {
  const Position cursor = ledger_.position();
  if (cursor.seq == 0 || !cursor.row.empty()) return;
  if (const auto row = api_.row_at(cursor.seq); row.has_value() && !row->empty()) ledger_.set_cursor(cursor.seq, *row);
}

// The cursor covers the messages that are handed over. Files do not hold it back: the ledger has them. It is always a
// row that was read, so that its id is known. If it is a row that a restore has lost, the next poll is answered 410.
void Agent::move_cursor() {
  const auto first = delivery_loop_.first_waiting();
  std::optional<Position> passed;
  for (; !ahead_.empty() && ahead_.front().row != first; ahead_.pop_front()) passed = ahead_.front();
  if (passed) ledger_.set_cursor(passed->seq, passed->row);
}

// Waits until all messages that were read are handed over, but not for long: files that arrive meanwhile should not
// wait.
void Agent::wait_for_progress() {
  const auto until = steady_clock::now() + settings_.busy_poll_interval;
  MutexLock lock(mutex_);
  while (!stop_.requested() && delivery_loop_.waiting_count() > 0 && !std::exchange(poll_now_, false)) {
    if (progressed_.wait_until(lock, until) == std::cv_status::timeout) return;
  }
}

}  // namespace restante::agent
