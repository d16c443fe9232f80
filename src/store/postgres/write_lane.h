// WriteLane is a thread with its own session that writes. It groups the waiting verbs into one transaction and answers
// all of them after its COMMIT; no caller blocks. When a verb throws, or returns an error after it has changed
// something, only that verb is undone. submit() is thread-safe and never blocks: when the queue is full, the answer is
// Unavailable, which is the back-pressure. When the connection is lost, the lane reconnects and tries the group again.
// When it was lost during the COMMIT, the lane first finds out whether the COMMIT took effect, then answers. The
// destructor commits the accepted verbs, as long as the endpoint's ShutdownDeadline allows.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/commit.h"
#include "base/metrics.h"
#include "store/postgres/read_cache.h"
#include "store/postgres/transaction.h"

namespace restante::postgres {

class WriteLane {
 public:
  struct Limits {
    std::size_t queued_verbs = 8192;
    std::size_t queued_bytes = 64 << 20;
    // Bounds how long the first of a group waits for the last.
    std::size_t group_verbs = 512;
    // How long a group waits for a server that was just lost, before its verbs fail.
    std::chrono::milliseconds patience{3'000};
    // How long the lane tries to find out the outcome of a COMMIT whose answer was lost.
    std::chrono::milliseconds settling{30'000};
  };

  // Removes from the read cache what its transactions change.
  WriteLane(ConnectionOptions endpoint, Uuid instance, Limits limits, ReadCache& read_cache, Metrics* metrics);
  ~WriteLane();
  WriteLane(const WriteLane&) = delete;
  WriteLane& operator=(const WriteLane&) = delete;

  // `verb(Transaction&)` runs inside a transaction on the lane's thread, perhaps several times, and returns a Result.
  // `bytes` is about how much memory it occupies.
  template <class Verb>
  auto submit(WriteHints hints, std::size_t bytes, Verb verb) {
    using Answer = std::invoke_result_t<Verb&, Transaction&>;
    auto job = std::make_unique<VerbJob<Verb, Answer>>(std::move(verb));
    job->hints = std::move(hints);
    job->bytes = bytes;
    Commit<Answer> commit = job->promise.commit();
    enqueue(std::move(job));
    return commit;
  }

 private:
  enum class Outcome { kept, refused };
  enum class AttemptResult { committed, verb_failed };

  struct Job {
    virtual ~Job() = default;
    virtual Outcome run(Transaction& transaction) = 0;
    virtual void fulfil() = 0;
    virtual void fail(std::exception_ptr failure) = 0;
    WriteHints hints;
    std::size_t bytes = 0;
    std::exception_ptr failure;
  };
  using Group = std::span<std::unique_ptr<Job>>;

  template <class Verb, class Answer>
  struct VerbJob final : Job {
    explicit VerbJob(Verb v) : verb(std::move(v)) {}
    Outcome run(Transaction& transaction) override {
      answer.reset();
      answer.emplace(verb(transaction));
      return answer->has_value() ? Outcome::kept : Outcome::refused;
    }
    void fulfil() override { promise.fulfil(std::move(*answer)); }
    void fail(std::exception_ptr why) override { promise.fail(std::move(why)); }
    Verb verb;
    std::optional<Answer> answer;
    CommitPromise<Answer> promise;
  };

  void enqueue(std::unique_ptr<Job> job);
  void work();
  std::vector<std::unique_ptr<Job>> next_group();
  // Answers every verb of the group.
  void perform(Group group);
  void perform_singly(Group group);
  // Call it in the handler of a conflict. False: every verb has been answered.
  bool may_try_again(Group group, int& conflicts);
  // Rolls back the open transaction, if there is one.
  void undo();
  // False: try again.
  bool try_once(Group group, std::chrono::steady_clock::time_point until);
  AttemptResult attempt(Group group);
  static void answer(Group group);
  static void fail(Group group, std::exception_ptr failure);
  Connection& connected();
  // Whether the transaction whose COMMIT was lost took effect. Throws Unavailable when that stays unknown.
  bool was_committed();
  void end_backend();
  void pause();

  const ConnectionOptions endpoint_;
  const Limits limits_;
  ReadCache& read_cache_;
  Metrics* const metrics_;
  std::unique_ptr<Connection> connection_;
  CommitMark mark_;
  bool committing_ = false;
  std::int64_t backend_ = 0;  // the process that serves the last connection

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::size_t queued_bytes_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace restante::postgres
