#include "agent/agent.h"

#include <thread>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/text.h"
#include "model/upload_names.h"

namespace restante::agent {
namespace {

using client::Failure;
using std::chrono::steady_clock;

std::string text_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_string() ? *value->if_string() : std::string();
}

bool is_status(const Failure& failure, int status) {
  return failure.kind == Failure::Kind::status && failure.status == status;
}

bool needs_another_token(const Failure& failure) { return is_status(failure, 401) || is_status(failure, 403); }

// No value when the row lacks what is needed to fetch the file.
std::optional<FileRecord> record_of(const Row& row) {
  FileRecord record;
  const auto id = FileId::parse(text_of(row.request_body, "file_id"));
  const auto* size = row.request_body.find("size");
  if (!id || !size || size->integer().value_or(-1) < 0) return {};
  record.parcel.id = *id;
  record.parcel.name = sanitise_filename(text_of(row.request_body, "name"));
  record.parcel.size = static_cast<std::uint64_t>(*size->integer());
  record.parcel.sha256 = text_of(row.request_body, "sha256");
  record.uri = text_of(row.request_body, "uri");
  record.row_id = row.id;
  record.seq = row.seq;
  record.created_at = row.created_at;
  return record;
}

}  // namespace

Agent::Agent(Settings settings, Home home, State state, Handover& handover, Stop& stop, Say say)
    : settings_(std::move(settings)),
      home_(std::move(home)),
      state_(std::move(state)),
      handover_(handover),
      stop_(stop),
      say_(std::move(say)),
      platform_(settings_.server, {}, settings_.http),
      pulse_(settings_.server, {}, settings_.http),
      courier_(platform_, Landing(settings_.dir)),
      backoff_(settings_.backoff_first, settings_.backoff_most),
      file_backoff_(std::chrono::seconds(2), std::chrono::minutes(5)) {}

End Agent::run() {
  std::thread ender([this] {
    stop_.wait();
    platform_.cancel();
    pulse_.cancel();
  });
  auto end = enlist();
  std::thread pulse([this, go = !end] {
    if (go) beat_until_stopped();
  });
  while (!end && !stop_.requested()) end = turn();
  stop_.request();
  ender.join();
  pulse.join();
  save();
  return end.value_or(End::stopped);
}

// The enrolment that made our token is spent; the pasted line may be run again all the same.
std::string Agent::choose_token() {
  if (!settings_.token.empty()) return settings_.token;
  const auto kept = home_.token();
  if (kept.has_error()) say_(kept.error().sentence);
  const auto enrolled = settings_.enrol.empty() ? std::string() : to_hex(sha256(settings_.enrol));
  if (kept.has_value() && !kept->empty() && (enrolled.empty() || enrolled == state_.enrolled)) return *kept;
  return settings_.enrol;
}

std::optional<End> Agent::enlist() {
  const auto token = choose_token();
  if (token.empty()) {
    say_("no token yet: give --enrol with the token from the page's `new workspace`, or --token-file");
    return End::not_permitted;
  }
  platform_.use_token(token);
  const auto& wanted = settings_.workspace.empty() ? state_.workspace : settings_.workspace;
  while (!stop_.requested()) {
    const auto made = platform_.enlist(token == settings_.enrol ? settings_.workspace : wanted);
    if (made.has_value()) {
      if (!adopt(*made)) return End::refused;
      pulse_.use_token(made->auth_token.empty() ? token : made->auth_token);
      say_("connected to " + settings_.server.text() + " as workspace " + state_.workspace);
      return {};
    }
    if (auto end = weather(made.error())) return end;
  }
  return End::stopped;
}

bool Agent::adopt(const Registration& registration) {
  if (!state_.workspace.empty() && state_.workspace != registration.workspace_id) {
    say_("this state belongs to workspace " + state_.workspace + ", the token to " + registration.workspace_id +
         "; give another --state");
    return false;
  }
  if (!registration.auth_token.empty()) {
    if (const auto kept = home_.keep_token(registration.auth_token); kept.has_error()) {
      say_("the token cannot be kept: " + kept.error().sentence);
      return false;
    }
    platform_.use_token(registration.auth_token);
    if (!settings_.enrol.empty()) state_.enrolled = to_hex(sha256(settings_.enrol));
  }
  state_.workspace = registration.workspace_id;
  state_.server = settings_.server.text();
  platform_.use_workspace(state_.workspace);
  pulse_.use_workspace(state_.workspace);
  for (const auto& file : state_.files) {
    if (file.where == FileRecord::Where::landed && !file.handed_over)
      due_[file.uri] = steady_clock::now() + settings_.file_grace;
  }
  unsaved_ = true;
  save();
  return true;
}

std::optional<End> Agent::weather(const Failure& failure) {
  if (failure.kind == Failure::Kind::cancelled) return End::stopped;
  if (needs_another_token(failure)) {
    say_("the server does not take this token (" + failure.sentence +
         "); it was revoked, or is another server's. Make a new one with the page's `connect again` and run "
         "`restante connect --enrol TOKEN`");
    return End::not_permitted;
  }
  if (failure.code == "workspace_removed") {
    say_("this workspace was removed from the server");
    return End::refused;
  }
  if (!failure.passes()) {
    say_(settings_.server.text() + " does not work as a platform: " + failure.sentence);
    return End::refused;
  }
  if (!std::exchange(unreachable_, true)) say_(failure.sentence + "; trying again until it works");
  const auto pause = backoff_.next();
  stop_.wait_for(std::max(pause, std::chrono::milliseconds(failure.retry_after.value_or(std::chrono::seconds(0)))));
  return {};
}

std::optional<End> Agent::turn() {
  tidy();
  if (auto end = hand_over_due_files()) return end;
  save();
  const auto wait = poll_wait();
  const auto asked = steady_clock::now();
  auto rows = platform_.poll(state_.cursor, wait);
  if (rows.has_error()) {
    const auto failure = rows.error();
    if (!is_status(failure, 410) || failure.code == "workspace_removed" || state_.cursor == 0) return weather(failure);
    say_(
        "the server no longer knows how far we had read; reading again what it keeps, without what was handed over "
        "already");
    state_.cursor = 0;
    return {};
  }
  backoff_.reset();
  if (std::exchange(unreachable_, false)) say_("reached " + settings_.server.text() + " again");
  for (auto& row : *rows) {
    if (stop_.requested()) return {};
    if (auto end = take(std::move(row))) return end;
  }
  // A server that shuts down, or does not know `wait`, answers at once: no reason to ask a thousand times a second.
  if (rows->empty() && steady_clock::now() - asked < std::chrono::milliseconds(200))
    stop_.wait_for(std::chrono::seconds(1));
  return {};
}

std::chrono::seconds Agent::poll_wait() const {
  const bool soon = !due_.empty() || !state_.outbox.empty();
  const bool waiting = std::any_of(state_.files.begin(), state_.files.end(), [](const FileRecord& file) {
    return file.where == FileRecord::Where::waiting || (file.where == FileRecord::Where::landed && !file.acked);
  });
  return soon      ? std::chrono::seconds(1)
         : waiting ? std::min(settings_.poll_wait, std::chrono::seconds(5))
                   : settings_.poll_wait;
}

std::optional<End> Agent::take(Row row) {
  if (row.seq <= state_.cursor) return {};
  const auto seq = row.seq;
  if (row.method == "chat_upload_receive") {
    take_file(row);
  } else if (row.method != "notify" && !state_.has_seen(row.id)) {  // notify is our own voice
    if (auto end = take_message(std::move(row))) return end;
  }
  state_.cursor = seq;
  unsaved_ = true;
  return {};
}

void Agent::take_file(const Row& row) {
  auto record = record_of(row);
  if (!record) return say_("a file was announced without a valid id or size; it is passed over");
  if (state_.find(record->uri)) return;
  state_.files.push_back(std::move(*record));
  bring(state_.files.back());
  state_.trim();
}

void Agent::bring(FileRecord& record) {
  std::string why;
  switch (courier_.bring(record, why)) {
    case Courier::Brought::landed:
      if (!record.handed_over) due_[record.uri] = steady_clock::now() + settings_.file_grace;
      break;
    case Courier::Brought::gone:
      record.acked = record.handed_over = true;
      break;
    case Courier::Brought::trouble:
      if (!record.reported) {
        say_("the file " + record.parcel.name + " cannot be taken: " + why);
        const auto told = platform_.fail(record.parcel.id, why);
        record.reported =
            told.has_value() || !told.error().passes();  // a server that knows no `fail` is told no second time
      }
      [[fallthrough]];
    case Courier::Brought::later:
      retry_files_at_ = steady_clock::now() + file_backoff_.next();
      break;
  }
  unsaved_ = true;
  if (record.where == FileRecord::Where::landed) acknowledge(record);
}

void Agent::acknowledge(FileRecord& record) {
  const auto acked = platform_.ack(record.parcel.id);
  record.acked = acked.has_value() || is_status(acked.error(), 404);  // 404: acked before and swept, or expired
  if (!record.acked) retry_files_at_ = steady_clock::now() + file_backoff_.next();
  unsaved_ = true;
}

// What an earlier turn could not finish.
void Agent::tidy() {
  send_replies();
  if (steady_clock::now() < retry_files_at_) return;
  for (auto& file : state_.files) {
    if (stop_.requested()) return;
    if (file.where == FileRecord::Where::landed && !file.acked) {
      acknowledge(file);
    } else if (file.where == FileRecord::Where::waiting) {
      bring(file);
      if (file.where != FileRecord::Where::waiting) file_backoff_.reset();
    }
  }
}

std::optional<End> Agent::take_message(Row row) {
  for (const auto& uri : file_uris(row.request_body)) {
    if (auto* file = state_.find(uri); file && file->where == FileRecord::Where::waiting) bring(*file);
  }
  const auto uris = file_uris(row.request_body);
  const auto id = row.id;
  const auto seq = row.seq;
  if (auto end = hand_over(deliver_message(std::move(row), state_))) return end;
  for (const auto& uri : uris) {
    auto* file = state_.find(uri);
    if (!file || file->where != FileRecord::Where::landed) continue;
    file->handed_over = true;
    due_.erase(uri);
  }
  state_.remember(id);
  state_.cursor = seq;
  unsaved_ = true;
  save();
  send_replies();
  return {};
}

std::optional<End> Agent::hand_over_due_files() {
  for (auto& file : state_.files) {
    const auto due = due_.find(file.uri);
    if (due == due_.end() || steady_clock::now() < due->second) continue;
    if (auto end = hand_over(deliver_file(file))) return end;
    due_.erase(due);
    file.handed_over = true;
    unsaved_ = true;
    save();
    send_replies();
  }
  return {};
}

std::optional<End> Agent::hand_over(const Delivery& delivery) {
  Backoff pause(std::chrono::seconds(1), std::chrono::seconds(30));
  for (int attempt = 1;; ++attempt) {
    auto verdict = handover_.deliver(delivery);
    switch (verdict.what) {
      case Verdict::What::stopped:
        return End::stopped;
      case Verdict::What::closed:
        say_("nobody takes what arrives: " + verdict.trouble);
        return End::reader_gone;
      case Verdict::What::handled:
        if (verdict.reply.empty()) return {};
        if (delivery.source_id) {
          say_("the reply to another agent's message is not sent: two agents could talk for ever");
        } else {
          state_.outbox.push_back({"reply-" + delivery.id, std::move(verdict.reply)});
        }
        return {};
      case Verdict::What::failed:
        break;
    }
    say_(verdict.trouble + fmt::format(" (attempt {} of {})", attempt, settings_.handover_attempts));
    if (attempt >= settings_.handover_attempts) {
      // One poisonous message must not hold up all the others; its sender hears of it.
      if (!delivery.source_id)
        state_.outbox.push_back({"failed-" + delivery.id, "The agent could not handle this: " + verdict.trouble + "."});
      return {};
    }
    if (stop_.wait_for(pause.next())) return End::stopped;
  }
}

void Agent::send_replies() {
  while (!state_.outbox.empty() && !stop_.requested()) {
    const auto& reply = state_.outbox.front();
    const auto sent = platform_.notify(reply.text, reply.key);
    if (sent.has_error() &&
        (sent.error().passes() || needs_another_token(sent.error()) || sent.error().kind == Failure::Kind::cancelled))
      return;
    if (sent.has_error()) say_("the server refuses a reply: " + sent.error().sentence);
    state_.outbox.erase(state_.outbox.begin());
    unsaved_ = true;
  }
}

void Agent::save() {
  if (!unsaved_) return;
  const auto saved = home_.save(state_);
  unsaved_ = saved.has_error();
  if (saved.has_error() && !std::exchange(save_failed_, true))
    say_("the state cannot be kept: " + saved.error().sentence);
  if (saved.has_value()) save_failed_ = false;
}

void Agent::beat_until_stopped() {
  // A missed beat is not worth a word: the poll notices the same trouble and says so.
  do {
    (void)pulse_.beat(std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - started_));
  } while (!stop_.wait_for(settings_.heartbeat));
}

}  // namespace restante::agent
