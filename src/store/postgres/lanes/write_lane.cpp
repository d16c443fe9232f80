#include "store/postgres/lanes/write_lane.h"

#include <new>

#include "store/postgres/schema/opening.h"

namespace restante::postgres {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr auto kPause = std::chrono::milliseconds(50);
// A verb that conflicts more often than this does not conflict by chance.
constexpr int kMostConflicts = 4;

}  // namespace

WriteLane::WriteLane(ConnectionOptions endpoint, Uuid instance, Limits limits, ReadCache& read_cache, Primary& primary,
                     Metrics* metrics)
    : endpoint_(std::move(endpoint)),
      limits_(limits),
      read_cache_(read_cache),
      primary_(primary),
      metrics_(metrics),
      queue_(limits) {
  mark_.instance = instance;
  mark_.writer = WorkspaceId::make(SystemClock().now());
  thread_ = std::thread([this] { work(); });
}

WriteLane::~WriteLane() {
  queue_.close();
  thread_.join();
}

void WriteLane::work() {
  while (perform_next()) continue;
}

// The jobs end with this call: what they hold must not stay until the next write.
bool WriteLane::perform_next() {
  auto group = queue_.next_group();
  if (!group.empty()) perform(group);
  return !group.empty();
}

std::exception_ptr WriteLane::perform(Group group) {
  const auto until = std::chrono::steady_clock::now() + limits_.patience;
  int conflicts = 0;
  for (;;) {
    try {
      if (try_once(group, until)) return nullptr;
    } catch (const Conflict&) {
      if (!may_try_again(group, conflicts)) return nullptr;
    } catch (const KeyTaken&) {
      if (!may_try_again(group, conflicts)) return nullptr;
    } catch (const Lost&) {
      fail(group, std::current_exception());
      return std::current_exception();
    } catch (const Unavailable&) {
      undo();
      fail(group, std::current_exception());
      return nullptr;
    } catch (...) {
      undo();
      group.size() > 1 ? perform_singly(group) : fail(group, std::current_exception());
      return nullptr;
    }
  }
}

bool WriteLane::may_try_again(Group group, int& conflicts) {
  undo();
  if (group.size() == 1 && ++conflicts < kMostConflicts) return true;
  group.size() > 1 ? perform_singly(group) : fail(group, std::current_exception());
  return false;
}

void WriteLane::undo() {
  if (connection_) connection_->rollback();
}

// Each verb in its own transaction: the verb that failed then fails alone. They do not wait one after the other for a
// server that stays away: the last of a large group would be answered after many minutes.
void WriteLane::perform_singly(Group group) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (const auto lost = perform(group.subspan(i, 1))) return fail(group.subspan(i + 1), lost);
  }
}

bool WriteLane::try_once(Group group, SteadyTime until) {
  try {
    if (attempt(group) == AttemptResult::verb_failed && group.size() > 1) {
      perform_singly(group);
    } else {
      Queue::answer(group);
    }
    return true;
  } catch (const Lost& lost) {
    const bool stalled = dynamic_cast<const Stalled*>(&lost) != nullptr;
    if (connection_) primary_.doubt();
    connection_.reset();
    if (committing_ && was_committed()) {
      read_cache_.forget_everything();
      Queue::answer(group);
      return true;
    }
    // After a stalled server the callers have waited long enough.
    if (stalled || std::chrono::steady_clock::now() >= end_of_wait(until, endpoint_.shutdown_deadline)) throw;
    pause();
    return false;
  }
}

WriteLane::AttemptResult WriteLane::attempt(Group group) {
  committing_ = false;
  std::vector<const WriteHints*> hints;
  for (auto& job : group) {
    job->failure = nullptr;
    hints.push_back(&job->hints);
  }
  Connection& connection = connected();
  Transaction transaction(connection);
  ++mark_.number;
  transaction.begin(mark_, hints);
  for (auto& job : group) {
    const auto before = transaction.changes();
    bool verb_failed = false;
    try {
      verb_failed = job->run(transaction) == Queue::Outcome::refused && transaction.changes() != before;
    } catch (const Conflict&) {
      throw;  // the verb found under its locks that it must start over
    } catch (...) {
      // If the transaction is broken, the failure may come from a statement that another verb queued.
      if (connection.lost() || connection.is_broken()) throw;
      job->failure = std::current_exception();
      verb_failed = true;
    }
    if (verb_failed) {
      connection.rollback();
      return AttemptResult::verb_failed;
    }
  }
  if (transaction.changes() == 0) {
    connection.rollback();
    return AttemptResult::committed;
  }
  committing_ = true;
  try {
    transaction.commit();
  } catch (const std::bad_alloc&) {
    // The COMMIT may have been sent: it must not run again before its outcome is known.
    std::rethrow_exception(no_memory_at_commit_);
  }
  // Before the callers are answered: a read after the answer must not get the old value. The group is stored: whatever
  // fails here must not run it again.
  try {
    read_cache_.forget(transaction.change_set());
  } catch (const std::exception&) {
    read_cache_.forget_everything();
  }
  if (metrics_) metrics_->store_commits.Increment();
  return AttemptResult::committed;
}

void WriteLane::fail(Group group, std::exception_ptr failure) {
  for (auto& job : group) job->fail(failure);
}

Connection& WriteLane::connected() {
  if (connection_ && !connection_->lost() && primary_.is_on(*connection_)) return *connection_;
  connection_.reset();
  auto made = std::make_unique<Connection>(endpoint_);
  // Before anything is committed there: from now on reads are made on the same server.
  primary_.add(*made);
  // Read from the server: a proxy in between reports other process numbers.
  const auto marked = made->query(
      "INSERT INTO commit_marks (writer, mark) VALUES ($1, $2) ON CONFLICT (writer) DO UPDATE SET marked_at = now() "
      "RETURNING pg_backend_pid()::bigint",
      mark_.writer, mark_.number);
  backend_ = marked.front().integer(0);
  server_start_ = made->server().start;
  lock_out_moves(*made);
  connection_ = std::move(made);
  return *connection_;
}

bool WriteLane::was_committed() {
  const auto deadline = std::chrono::steady_clock::now() + limits_.settling;
  for (std::string why;; pause()) {
    try {
      auto made = std::make_unique<Connection>(endpoint_);
      // The transaction locked this row when it began. Once we get the lock, the transaction has ended, and the row
      // shows how.
      const auto found = made->query("SELECT mark FROM commit_marks WHERE writer = $1 FOR UPDATE", mark_.writer);
      return !found.empty() && found.front().integer(0) == mark_.number;
    } catch (const Conflict& failed) {
      // It still runs, for longer than a caller should wait. End it; the next round finds its outcome.
      end_backend();
      why = failed.what();
    } catch (const Unavailable& failed) {
      why = failed.what();
    } catch (const std::bad_alloc&) {
      why = "no memory";
    }
    if (std::chrono::steady_clock::now() >= end_of_wait(deadline, endpoint_.shutdown_deadline)) {
      // If it did, what was read before is wrong.
      read_cache_.forget_everything();
      throw OutcomeUnknown("it is not known whether a COMMIT took effect: " + why);
    }
  }
}

void WriteLane::end_backend() {
  try {
    // On another server the number belongs to another process.
    Connection(endpoint_).query("SELECT pg_terminate_backend($1::bigint::int) WHERE pg_postmaster_start_time() = $2",
                                backend_, server_start_);
  } catch (const Unavailable&) {
    // The next round tries again.
  }
}

void WriteLane::pause() { std::this_thread::sleep_for(kPause); }

}  // namespace restante::postgres
