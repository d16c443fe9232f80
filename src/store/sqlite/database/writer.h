// Writer: the only thread that writes. It groups waiting verbs into one transaction and answers all of them after its
// COMMIT; no caller's thread waits (store/commit_queue.h). A verb that throws, or that returns an error after it has
// changed something, is rolled back alone; the others of its group are not affected. A full disk fails the group with
// StorageFull, unless it succeeds once the log has been emptied; an I/O error fails it and everything after it. If that
// comes with the COMMIT, the group fails with OutcomeUnknown; a sync of the log that found no room and a COMMIT that
// got no memory do the same, and the next group is tried as usual. The destructor commits what was accepted.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/metrics.h"
#include "store/commit_queue.h"
#include "store/sqlite/database/checkpointer.h"
#include "store/sqlite/database/transaction.h"

namespace restante::sqlite {

class Writer {
 public:
  struct Limits : CommitQueueLimits {
    // A checkpoint every 16 MiB of log measured best. A log of 256 MiB means that readers have prevented it from
    // starting from the beginning; then the writer waits for them, which is better than a log that grows forever.
    int checkpoint_pages = 4000;
    int truncate_pages = 64000;
  };

  // Two connections to the same file: one for writes, one for checkpoints at the same time. Commits are counted in
  // `metrics`, if given. `committed` runs after each COMMIT, before the verbs are answered.
  Writer(std::unique_ptr<Database> database, std::unique_ptr<Database> checkpoints, Health& health, Limits limits,
         Metrics* metrics = nullptr, std::function<void()> committed = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // `verb(Database&)` runs inside a transaction on the writer's thread, perhaps twice, and returns a Result. `bytes` is
  // roughly the memory that it holds.
  template <class Verb>
  auto submit(std::size_t bytes, Verb verb) {
    return queue_.submit({}, bytes, [verb = std::move(verb)](SqlTransaction& transaction) mutable {
      return verb(static_cast<Transaction&>(transaction).database());
    });
  }
  // For verbs that need only what both databases have. The writer ignores the hints.
  CommitQueue<SqlTransaction, WriteHints>& queue() { return queue_; }

 private:
  using Queue = CommitQueue<SqlTransaction, WriteHints>;
  using Job = Queue::Job;
  using Group = Queue::Group;

  void work();
  // False once the queue is closed and empty.
  bool perform_next();
  void perform(Group group);
  void run_group(Group group);
  // Whether it is worth another attempt.
  bool make_room();
  bool run_together(Group group);
  void run_apart(Group group);
  void run_in_savepoint(Job& job);
  Queue::Outcome run(Job& job);
  void begin();
  void commit();
  void checkpoint_if_due();

  std::unique_ptr<Database> database_;
  Checkpointer checkpointer_;
  Health& health_;
  const Limits limits_;
  Metrics* const metrics_;
  const std::function<void()> committed_;
  int log_pages_ = 0;
  // Made before it is needed: then there is no memory for it.
  const std::exception_ptr no_memory_at_commit_ =
      std::make_exception_ptr(OutcomeUnknown("there was no memory for a COMMIT"));

  Queue queue_;
  std::thread thread_;
};

}  // namespace restante::sqlite
