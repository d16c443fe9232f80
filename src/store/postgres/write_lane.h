// Lane: a thread with a session of its own that writes. What is waiting is grouped into one transaction and everyone is
// answered after its COMMIT; no caller sleeps. A verb that throws, or that answers an error after it had changed
// something, is undone alone and takes no other with it. submit() is thread-safe and never blocks: when the queue is
// full the answer is Unavailable, which is the back-pressure. A lost connection is made again and the group tried
// again; one that was lost during COMMIT is asked about before anybody is answered. The destructor commits what was
// accepted, as long as the endpoint's Closing lets it.
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
    // How long a group waits for a server that has just gone, before it is told so.
    std::chrono::milliseconds patience{3'000};
    // How long one waits for the outcome of a COMMIT whose answer was lost.
    std::chrono::milliseconds settling{30'000};
  };

  // What its transactions change, it makes the memory forget.
  WriteLane(ConnectionOptions endpoint, Uuid instance, Limits limits, ReadCache& read_cache, Metrics* metrics);
  ~WriteLane();
  WriteLane(const WriteLane&) = delete;
  WriteLane& operator=(const WriteLane&) = delete;

  // `verb(Transaction&)` runs inside a transaction on the lane's thread, perhaps several times, and answers a Result.
  // `bytes` is about how much memory it holds on to.
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
  // Answers everybody.
  void perform(Group group);
  void perform_singly(Group group);
  // While it handles that somebody else was quicker. False: everybody has been answered.
  bool may_try_again(Group group, int& conflicts);
  // What is open, if anything is.
  void undo();
  // False: try again.
  bool try_once(Group group, std::chrono::steady_clock::time_point until);
  AttemptResult attempt(Group group);
  static void answer(Group group);
  static void fail(Group group, std::exception_ptr failure);
  Connection& connected();
  // Whether the transaction whose COMMIT was lost has happened. Throws Unavailable when nobody can say.
  bool has_happened();
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
