// Writer: the only thread that writes. It groups waiting verbs into one transaction and answers all of them after its
// COMMIT; no caller's thread waits. A verb that throws, or that returns an error after it has changed something, is
// rolled back alone; the others of its group are not affected. submit() is thread-safe and never blocks: when the queue
// is full the answer is Unavailable, which is the back-pressure. A full disk fails the group with StorageFull; an I/O
// error fails it and everything after it. The destructor commits what was accepted.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/commit.h"
#include "base/metrics.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/database.h"

namespace restante::sqlite {

class Writer {
 public:
  struct Limits {
    std::size_t queued_verbs = 8192;
    std::size_t queued_bytes = 64 << 20;
    // Limits how long the first verb of a group waits for the last.
    std::size_t group_verbs = 512;
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
    using Answer = std::invoke_result_t<Verb&, Database&>;
    auto job = std::make_unique<VerbJob<Verb, Answer>>(std::move(verb));
    job->bytes = bytes;
    Commit<Answer> commit = job->promise.commit();
    enqueue(std::move(job));
    return commit;
  }

 private:
  enum class Outcome { kept, refused };

  struct Job {
    virtual ~Job() = default;
    virtual Outcome run(Database& database) = 0;
    virtual void fulfil() = 0;
    virtual void fail(std::exception_ptr failure) = 0;
    std::size_t bytes = 0;
    std::exception_ptr failure;
  };
  using Jobs = std::vector<std::unique_ptr<Job>>;

  template <class Verb, class Answer>
  struct VerbJob final : Job {
    explicit VerbJob(Verb v) : verb(std::move(v)) {}
    Outcome run(Database& database) override {
      answer.reset();
      answer.emplace(verb(database));
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
  Jobs next_group();
  void perform(std::span<std::unique_ptr<Job>> group);
  bool run_together(std::span<std::unique_ptr<Job>> group);
  void run_apart(std::span<std::unique_ptr<Job>> group);
  void run_in_savepoint(Job& job);
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

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::size_t queued_bytes_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace restante::sqlite
