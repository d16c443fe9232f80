#include "store/sqlite/database/writer.h"

namespace restante::sqlite {

Writer::Writer(std::unique_ptr<Database> database, std::unique_ptr<Database> checkpoints, Health& health, Limits limits,
               Metrics* metrics, std::function<void()> committed)
    : database_(std::move(database)),
      checkpointer_(std::move(checkpoints)),
      health_(health),
      limits_(limits),
      metrics_(metrics),
      committed_(std::move(committed)),
      queue_(limits) {
  database_->watch_log(&log_pages_);
  thread_ = std::thread([this] { work(); });
}

Writer::~Writer() {
  queue_.close();
  thread_.join();
}

void Writer::work() {
  while (perform_next()) checkpoint_if_due();
}

// The jobs end with this call: what they hold must not stay until the next write.
bool Writer::perform_next() {
  auto group = queue_.next_group();
  if (!group.empty()) perform(group);
  return !group.empty();
}

void Writer::perform(Group group) {
  try {
    health_.require();
    try {
      run_group(group);
    } catch (const StorageFull&) {
      database_->rollback();
      if (!make_room()) throw;
      for (auto& job : group) job->failure = nullptr;
      run_group(group);
    }
  } catch (...) {
    database_->rollback();
    for (auto& job : group) job->failure = std::current_exception();
  }
  Queue::answer(group);
}

void Writer::run_group(Group group) {
  if (!run_together(group)) run_apart(group);
}

// The log may hold the room that is missing: once its pages are in the database, it starts from the beginning.
bool Writer::make_room() {
  try {
    return database_->checkpoint(Database::Checkpoint::passive) == 0;
  } catch (const Unavailable&) {
    return false;  // the group fails with what it met itself
  }
}

void Writer::begin() {
  // Rows written to a file that was deleted or replaced would be lost when the process ends.
  if (database_->has_moved()) {
    health_.fail("the database file was moved, replaced or deleted");
    health_.require();
  }
  database_->run("BEGIN IMMEDIATE");
}

void Writer::commit() {
  try {
    database_->run("COMMIT");
  } catch (const StorageFull&) {
    throw;
  } catch (const Unavailable& e) {
    // The whole transaction may be in the log: then a restart finds it there.
    if (!health_.ok()) throw OutcomeUnknown(e.what());
    throw;
  } catch (const std::bad_alloc&) {
    // The log may have the whole transaction; then readers see it, too.
    if (committed_) ObserverFailures::guard(committed_);
    std::rethrow_exception(no_memory_at_commit_);
  }
  // The group is stored: nothing that follows may make it fail.
  if (committed_) ObserverFailures::guard(committed_);
  if (metrics_) metrics_->store_commits.Increment();
}

// The common case: without savepoints, which would cost half of the writer's time. False when one verb failed after a
// change and the transaction was rolled back.
bool Writer::run_together(Group group) {
  begin();
  for (auto& job : group) {
    const auto before = database_->total_changes();
    bool must_undo = false;
    try {
      must_undo = run(*job) == Queue::Outcome::refused && database_->total_changes() != before;
    } catch (const StorageFull&) {
      throw;
    } catch (...) {
      if (!health_.ok()) throw;
      must_undo = true;
    }
    if (must_undo) {
      database_->rollback();
      return false;
    }
  }
  commit();
  return true;
}

Writer::Queue::Outcome Writer::run(Job& job) {
  Transaction transaction(*database_);
  const auto outcome = job.run(transaction);
  if (outcome == Queue::Outcome::kept) transaction.flush();
  return outcome;
}

void Writer::run_apart(Group group) {
  begin();
  for (auto& job : group) run_in_savepoint(*job);
  commit();
}

void Writer::run_in_savepoint(Job& job) {
  database_->run("SAVEPOINT verb");
  try {
    if (run(job) == Queue::Outcome::refused) database_->run("ROLLBACK TO verb");
  } catch (const StorageFull&) {
    throw;
  } catch (...) {
    // Some failures end the whole transaction inside SQLite; then all its verbs have failed.
    if (!health_.ok() || !database_->in_transaction()) throw;
    job.failure = std::current_exception();
    database_->run("ROLLBACK TO verb");
  }
  database_->run("RELEASE verb");
}

// Called after the answers, so that no client waits for it. A failed sync is recorded in Health; no verb has failed.
void Writer::checkpoint_if_due() {
  if (!health_.ok()) return;
  const bool too_long = log_pages_ >= limits_.truncate_pages;
  if (!too_long && log_pages_ >= limits_.checkpoint_pages) checkpointer_.begin();
  if (!too_long && !checkpointer_.take_near()) return;
  try {
    database_->checkpoint(too_long ? Database::Checkpoint::truncate : Database::Checkpoint::passive);
  } catch (const std::exception&) {
    // The disk may have space again when the next group tries it.
  }
}

}  // namespace restante::sqlite
