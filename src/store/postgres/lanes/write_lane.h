// WriteLane is a thread with its own session that writes. It groups the waiting verbs into one transaction and answers
// all of them after its COMMIT; no caller blocks (store/commit_queue.h). When a verb throws, or returns an error after
// it has changed something, only that verb is undone. When the connection is lost, the lane reconnects and tries the
// group again. When it was lost during the COMMIT, the lane first finds out whether the COMMIT took effect, then
// answers. The destructor commits the accepted verbs, as long as the endpoint's ShutdownDeadline allows.
#pragma once
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "base/metrics.h"
#include "store/commit_queue.h"
#include "store/postgres/cache/read_cache.h"
#include "store/postgres/connections/primary.h"
#include "store/postgres/lanes/transaction.h"

namespace restante::postgres {

class WriteLane {
 public:
  struct Limits : CommitQueueLimits {
    // How long a group waits for a server that was just lost, before its verbs fail.
    std::chrono::milliseconds patience{5'000};
    // How long the lane tries to find out the outcome of a COMMIT whose answer was lost.
    std::chrono::milliseconds settling{30'000};
  };

  // Removes from the read cache what its transactions change. `read_cache` and `primary` live longer than this.
  WriteLane(ConnectionOptions endpoint, Uuid instance, Limits limits, ReadCache& read_cache, Primary& primary,
            Metrics* metrics);
  ~WriteLane();
  WriteLane(const WriteLane&) = delete;
  WriteLane& operator=(const WriteLane&) = delete;

  // `verb(Transaction&)` runs inside a transaction on the lane's thread, perhaps several times, and returns a Result.
  // `bytes` is about how much memory it occupies.
  template <class Verb>
  auto submit(WriteHints hints, std::size_t bytes, Verb verb) {
    return queue_.submit(std::move(hints), bytes, [verb = std::move(verb)](SqlTransaction& transaction) mutable {
      return verb(static_cast<Transaction&>(transaction));
    });
  }
  // For verbs that need only what both databases have.
  CommitQueue<SqlTransaction, WriteHints>& queue() { return queue_; }

 private:
  enum class AttemptResult { committed, verb_failed };
  using Queue = CommitQueue<SqlTransaction, WriteHints>;
  using Group = Queue::Group;

  void work();
  // False once the queue is closed and empty.
  bool perform_next();
  // Answers every verb of the group. Returns the failure if the server was lost and did not come back in time.
  std::exception_ptr perform(Group group);
  void perform_singly(Group group);
  // Call it in the handler of a conflict. False: every verb has been answered.
  bool may_try_again(Group group, int& conflicts);
  // Rolls back the open transaction, if there is one.
  void undo();
  // False: try again.
  bool try_once(Group group, std::chrono::steady_clock::time_point until);
  AttemptResult attempt(Group group);
  static void fail(Group group, std::exception_ptr failure);
  Connection& connected();
  // Whether the transaction whose COMMIT was lost took effect. Throws OutcomeUnknown when that stays unknown.
  bool was_committed();
  void end_backend();
  void pause();

  const ConnectionOptions endpoint_;
  const Limits limits_;
  ReadCache& read_cache_;
  Primary& primary_;
  Metrics* const metrics_;
  std::unique_ptr<Connection> connection_;
  CommitMark mark_;
  bool committing_ = false;
  // Made before it is needed: then there is no memory for it.
  const std::exception_ptr no_memory_at_commit_ = std::make_exception_ptr(Lost("there was no memory for a COMMIT"));
  std::int64_t backend_ = 0;  // the process that serves the last connection
  Time server_start_;         // of the server whose process that is

  Queue queue_;
  std::thread thread_;
};

}  // namespace restante::postgres
