// CommitQueue: the verbs that wait for a writer's thread, for a group commit. The writer takes all that wait as one
// group, runs it in one transaction and answers every verb after the COMMIT. submit() is thread-safe and never blocks:
// when the queue is full, the answer is Unavailable, which is the back-pressure.
//
// `Work` is what a verb gets to work on. `Hints` is what the writer should know about a verb before it runs; a verb
// whose hints have a member `alone` that is true gets a group for itself.
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "base/handed_writes.h"
#include "base/mutex.h"
#include "base/until_memory.h"
#include "store/writer_progress.h"

namespace restante {

struct CommitQueueLimits {
  std::size_t queued_verbs = 8192;
  std::size_t queued_bytes = 64 << 20;
  // Bounds how long the first verb of a group waits for the last.
  std::size_t group_verbs = 512;
};

// What a verb fails with that got no memory while it ran: unlike std::bad_alloc it says that nothing was stored. Made
// before it is needed.
inline const std::exception_ptr kNoMemoryForVerb =
    std::make_exception_ptr(Unavailable("there is no memory for this write"));

template <class Work, class Hints>
class CommitQueue {
 public:
  enum class Outcome { kept, refused };

  struct Job {
    virtual ~Job() = default;
    virtual Outcome run(Work& work) = 0;
    virtual void fulfil() = 0;
    virtual void fail(std::exception_ptr failure) = 0;
    Hints hints;
    std::size_t bytes = 0;
    std::exception_ptr failure;
  };
  using Jobs = std::vector<std::unique_ptr<Job>>;
  using Group = std::span<std::unique_ptr<Job>>;

  explicit CommitQueue(CommitQueueLimits limits) : limits_(limits) {}

  // `verb(Work&)` runs in a transaction on the writer's thread, perhaps several times, and returns a Result. `bytes` is
  // roughly the memory that it holds.
  template <class Verb>
  auto submit(Hints hints, std::size_t bytes, Verb verb) {
    using Answer = std::invoke_result_t<Verb&, Work&>;
    auto job = std::make_unique<VerbJob<Verb, Answer>>(std::move(verb));
    job->hints = std::move(hints);
    job->bytes = bytes;
    Commit<Answer> commit = job->promise.commit();
    enqueue(std::move(job));
    return commit;
  }

  // For the writer's thread. Waits for verbs; empty once the queue is closed and all verbs were taken.
  Jobs next_group();
  // The writer is busy from the end of a next_group() to the beginning of the next one. Any thread.
  WriterProgress progress() {
    const MutexLock lock(mutex_);
    return progress_;
  }
  // Answers every verb: with its value, or with its own failure.
  static void answer(Group group) {
    for (auto& job : group) job->failure ? job->fail(job->failure) : job->fulfil();
  }
  // From now on verbs are refused.
  void close();

 private:
  template <class Verb, class Answer>
  struct VerbJob final : Job {
    explicit VerbJob(Verb v) : verb(std::move(v)) {}
    Outcome run(Work& work) override {
      answer.reset();
      answer.emplace(verb(work));
      return answer->has_value() ? Outcome::kept : Outcome::refused;
    }
    void fulfil() override { promise.fulfil(std::move(*answer)); }
    void fail(std::exception_ptr why) override {
      try {
        std::rethrow_exception(why);
      } catch (const std::bad_alloc&) {
        promise.fail(kNoMemoryForVerb);
      } catch (...) {
        promise.fail(std::move(why));
      }
    }
    Verb verb;
    std::optional<Answer> answer;
    CommitPromise<Answer> promise;
  };

  static bool is_alone(const Job& job) {
    if constexpr (requires { job.hints.alone; }) return job.hints.alone;
    return false;
  }
  void enqueue(std::unique_ptr<Job> job);

  const CommitQueueLimits limits_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::unique_ptr<Job>> queue_ RESTANTE_GUARDED_BY(mutex_);
  std::size_t queued_bytes_ RESTANTE_GUARDED_BY(mutex_) = 0;
  bool closed_ RESTANTE_GUARDED_BY(mutex_) = false;
  WriterProgress progress_ RESTANTE_GUARDED_BY(mutex_);
};

template <class Work, class Hints>
void CommitQueue<Work, Hints>::enqueue(std::unique_ptr<Job> job) {
  const char* refusal = nullptr;
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    // One job alone always fits, whatever its size.
    if (closed_) {
      refusal = "the store is closing";
    } else if (queue_.size() >= limits_.queued_verbs ||
               (!queue_.empty() && queued_bytes_ + job->bytes > limits_.queued_bytes)) {
      refusal = "too many writes are waiting";
    } else {
      was_empty = queue_.empty();
      queued_bytes_ += job->bytes;
      queue_.push_back(std::move(job));
    }
  }
  HandedWrites::add();
  // NOLINTNEXTLINE(bugprone-use-after-move): moved only where there is no refusal.
  if (refusal) return job->fail(std::make_exception_ptr(Unavailable(refusal)));
  if (was_empty) changed_.notify_one();
}

template <class Work, class Hints>
typename CommitQueue<Work, Hints>::Jobs CommitQueue<Work, Hints>::next_group() {
  MutexLock lock(mutex_);
  progress_.busy = false;
  while (!closed_ && queue_.empty()) changed_.wait(lock);
  Jobs group;
  const std::size_t most = std::min(queue_.size(), limits_.group_verbs);
  until_memory([&] { group.reserve(most); });
  while (!queue_.empty() && group.size() < limits_.group_verbs) {
    const bool alone = is_alone(*queue_.front());
    if (alone && !group.empty()) break;
    queued_bytes_ -= queue_.front()->bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (alone) break;
  }
  if (!group.empty()) progress_ = {progress_.groups + 1, true};
  return group;
}

template <class Work, class Hints>
void CommitQueue<Work, Hints>::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

}  // namespace restante
