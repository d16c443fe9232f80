#include "agent/ledger.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace restante::agent {
namespace {

using Where = FileRecord::Where;

constexpr std::uint64_t kMaxJournal = 4 << 20;  // replayed in well under a second at the next start

bool is_unfinished(const FileRecord& file) {
  switch (file.where) {
    case Where::waiting:
      return true;
    case Where::landed:
      return !file.acked || !file.handed_over;
    case Where::gone:
    case Where::refused:
      return !file.notified;
  }
  return false;
}

}  // namespace

Ledger::Ledger(StateDirectory directory, State state, PrintLine print_line)
    : print_line_(std::move(print_line)), directory_(std::move(directory)), state_(std::move(state)) {}

DiskResult<std::string> Ledger::token() const {
  const MutexLock lock(mutex_);
  return directory_.token();
}

DiskResult<void> Ledger::keep_token(const std::string& token) {
  const MutexLock lock(mutex_);
  return directory_.keep_token(token);
}

DiskResult<void> Ledger::check_writable() const {
  const MutexLock lock(mutex_);
  return directory_.check_writable();
}

void Ledger::write_health(std::string_view json) {
  const MutexLock lock(mutex_);
  directory_.write_health(json);
}

State Ledger::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

std::optional<FileRecord> Ledger::file(FileId id) const {
  const MutexLock lock(mutex_);
  const auto* found = state_.find(id);
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<Reply> Ledger::next_reply() const {
  const MutexLock lock(mutex_);
  return state_.outbox.empty() ? std::nullopt : std::optional(state_.outbox.front());
}

bool Ledger::has_begun(const std::string& delivery) const {
  const MutexLock lock(mutex_);
  return state_.has_begun(delivery);
}

bool Ledger::has_seen(const ReceivedRow& row) const {
  const MutexLock lock(mutex_);
  return state_.has_seen(row.id, row.created_at);
}

Delivery Ledger::compose(ReceivedRow row) const {
  const MutexLock lock(mutex_);
  return deliver_message(std::move(row), state_);
}

std::optional<std::int64_t> Ledger::next_hop(const Delivery& delivery) const {
  const MutexLock lock(mutex_);
  return agent::next_hop(state_.answered, delivery.source_id.value_or(""), delivery.hops, delivery.created_at);
}

Ledger::Counts Ledger::counts() const {
  const MutexLock lock(mutex_);
  const auto waiting = std::ranges::count(state_.files, Where::waiting, &FileRecord::where);
  return {static_cast<std::size_t>(waiting), state_.outbox.size()};
}

std::vector<FileRecord> Ledger::unfinished_files() const {
  const MutexLock lock(mutex_);
  std::vector<FileRecord> found;
  std::copy_if(state_.files.begin(), state_.files.end(), std::back_inserter(found), is_unfinished);
  return found;
}

void Ledger::set_identity(std::string_view server, std::string_view workspace, std::string_view enrolled) {
  change(change::identity(server, workspace, enrolled), Durable::now);
}

bool Ledger::announce(const FileRecord& file) {
  {
    const MutexLock lock(mutex_);
    if (state_.find(file.announced.id)) return false;
  }
  change(change::announced(file), Durable::with_the_next);
  return true;
}

void Ledger::set_cursor(std::int64_t cursor, std::string_view row) {
  change(change::cursor(cursor, row), Durable::now);
}

void Ledger::file_updated(const FileRecord& file) { change(change::file_updated(file), Durable::with_the_next); }

Ledger::Begun Ledger::begin(const std::string& id) {
  {
    const MutexLock lock(mutex_);
    if (state_.has_begun(id)) return Begun::again;
  }
  change(change::begun(id), Durable::now);
  return Begun::first_time;
}

void Ledger::end_delivery(const change::DeliveryEnd& end) { change(change::delivery_ended(end), Durable::now); }

std::string Ledger::answer(const std::string& delivery, Reply reply) {
  std::string created_at;
  if (!delivery.empty()) {
    const MutexLock lock(mutex_);
    const auto origin = state_.origin_of(delivery);
    if (!origin) return "no delivery with the id " + delivery + " was handed over lately";
    created_at = origin->created_at;
    const auto row = InboxRowId::parse(delivery);
    reply.row = row ? row->text() : std::string();
    if (!origin->delegation_id.empty()) {
      reply.to = Reply::To::delegation;
      reply.target = origin->delegation_id;
    } else if (!origin->source_id.empty()) {
      const auto hops = agent::next_hop(state_.answered, origin->source_id, origin->hops, created_at);
      if (!hops) return fmt::format("{} automatic answers in a row to an agent are enough", kMostHops);
      reply.to = Reply::To::agent;
      reply.target = origin->source_id;
      reply.hops = *hops;
    }
  }
  change(change::replied(reply, created_at), Durable::now);
  return {};
}

void Ledger::sent(const std::string& key) { change(change::sent(key), Durable::with_the_next); }

void Ledger::change(const std::string& line, Durable durable) {
  std::optional<std::string> trouble;
  {
    const MutexLock lock(mutex_);
    const auto json = parse_json(line, {.depth = 8, .nodes = 100'000});
    [[maybe_unused]] const bool applied = json.has_value() && state_.apply(*json);
    assert(applied);
    const auto written = write(line, durable);
    const bool failed = written.has_error();
    if (failed && !failing_) trouble = "the state cannot be kept: " + written.error().sentence;
    if (!failed && failing_) trouble = "the state can be kept again";
    failing_ = failed;
  }
  if (trouble) print_line_(*trouble);
}

DiskResult<void> Ledger::write(const std::string& line, Durable durable) {
  // A journal that is too long, or that lacks a line, is replaced by a snapshot of the whole state, which includes this
  // change.
  if (failing_ || directory_.journal_bytes() == 0 || directory_.journal_bytes() > kMaxJournal)
    return directory_.save(state_);
  if (auto appended = directory_.append(line); appended.has_error()) return directory_.save(state_);
  return durable == Durable::now ? directory_.sync_journal() : DiskResult<void>();
}

}  // namespace restante::agent
