#include "net/edge.h"

#include <algorithm>
#include <thread>

#include "base/mutex.h"
#include "base/until_memory.h"
#include "net/io_thread.h"
#include "net/listener.h"
#include "net/shared.h"
#include "net/upstream_request.h"

namespace restante::net {
namespace {

constexpr auto kLook = std::chrono::milliseconds(10);
// A handler that still runs when the drain is over keeps its thread no longer than its own timeouts.
constexpr auto kAbandonGrace = std::chrono::seconds(2);

}  // namespace

class Edge::State {
 public:
  State(Options options, const Clock& clock, Log& log, Metrics& metrics)
      : shared(std::move(options), clock, log, metrics) {
    unsigned count = shared.options.io_threads;
    if (count == 0) count = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < count; ++i) threads.push_back(std::make_unique<IoThread>(i, shared));
  }

  // A repeated job; its timer is on the first I/O thread, its work on the pool.
  struct Job {
    const std::size_t number;
    const std::chrono::milliseconds period;
    const std::string name;
    std::function<void()> work;
    std::unique_ptr<asio::steady_timer> timer;
  };

  void ticked(Job& job, bool well) {
    const MutexLock lock(ticking);
    LoopTick& tick = ticks[job.number];
    tick.last_tick_at = shared.clock.now();
    tick.failed = !well;
    if (!well) ++tick.failures;
  }

  void schedule(Job& job) {
    {
      const MutexLock lock(ticking);
      ticks[job.number].due_at = shared.clock.now() + job.period;
    }
    job.timer->expires_after(job.period);
    until_memory([this, &job] {
      job.timer->async_wait([this, &job](const boost::system::error_code& ec) {
        if (ec || shared.draining.load()) return;
        until_memory([this, &job] { shared.pool->post([this, &job] { perform(job); }); });
      });
    });
  }

  void perform(Job& job) {
    bool well = false;
    try {
      job.work();
      well = true;
    } catch (const std::exception& e) {
      shared.log.error("job_failed", {{"job", job.name}, {"reason", e.what()}});
    } catch (...) {
      shared.log.error("job_failed", {{"job", job.name}, {"reason", "not an exception"}});
    }
    ticked(job, well);
    until_memory([this, &job] { asio::post(threads.front()->context(), [this, &job] { schedule(job); }); });
  }

  bool quiet() const { return shared.counts.total() == 0 && background_calls.load() == 0; }

  // The thread with the fewest connections.
  IoThread& idlest() {
    return **std::ranges::min_element(threads, {}, [](const auto& thread) { return thread->load(); });
  }

  void wait_until_quiet(std::chrono::steady_clock::time_point until) {
    MutexLock lock(mutex);
    while (!quiet() && !hurry && std::chrono::steady_clock::now() < until) changed.wait_for(lock, kLook);
  }

  std::atomic<std::size_t> background_calls{0};
  Shared shared;
  std::vector<std::unique_ptr<IoThread>> threads;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::unique_ptr<Job>> jobs;
  Mutex ticking;  // jobs end on pool threads, and loops() reads them there too
  std::vector<LoopTick> ticks RESTANTE_GUARDED_BY(ticking);  // by the job's number
  Mutex mutex;                                               // stop_now() is called on another thread than stop()
  ConditionVariable changed;
  bool hurry RESTANTE_GUARDED_BY(mutex) = false;
  bool started = false;
  bool stopped = false;
};

Edge::Edge(Options options, const Clock& clock, Log& log, Metrics& metrics)
    : state_(std::make_unique<State>(std::move(options), clock, log, metrics)) {}

Edge::~Edge() { stop(); }

Bell& Edge::bell() { return state_->shared.waiters; }

void Edge::start(const http::Router& router) {
  State& s = *state_;
  s.shared.use(router);
  for (const Endpoint& endpoint : s.shared.options.listen) {
    s.listeners.push_back(std::make_unique<Listener>(endpoint, s.shared, s.threads));
  }
  s.started = true;
  for (auto& job : s.jobs) s.schedule(*job);
  for (auto& thread : s.threads) thread->start();
  for (auto& listener : s.listeners) listener->start();
}

std::vector<std::string> Edge::addresses() const {
  std::vector<std::string> all;
  for (const auto& listener : state_->listeners) all.push_back(listener->address());
  return all;
}

void Edge::every(std::chrono::milliseconds period, std::string name, std::function<void()> job) {
  State& s = *state_;
  auto timer = std::make_unique<asio::steady_timer>(s.threads.front()->context());
  {
    const MutexLock lock(s.ticking);
    s.ticks.push_back({name, period, {}, {}, false, 0});
  }
  s.jobs.push_back(std::make_unique<State::Job>(
      State::Job{s.jobs.size(), period, std::move(name), std::move(job), std::move(timer)}));
}

std::vector<LoopTick> Edge::loops() const {
  State& s = *state_;
  const MutexLock lock(s.ticking);
  return s.ticks;
}

void Edge::call(http::Forward order) {
  State& s = *state_;
  // Destroyed with the coroutine, also when that is never resumed.
  struct Counted {
    explicit Counted(std::atomic<std::size_t>& all) : count(all) { ++count; }
    ~Counted() { --count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<std::size_t>& count;
  };
  const auto counted = std::make_shared<Counted>(s.background_calls);
  const auto kept = std::make_shared<http::Forward>(std::move(order));
  const auto over = [counted, &log = s.shared.log](std::exception_ptr failure) {
    if (failure) log.error("errand_failed", {{"reason", "it ended before its time"}});
  };
  asio::co_spawn(s.idlest().executor(), run_background_call(s.shared, kept), over);
}

bool Edge::reload_tls() {
  Shared& shared = state_->shared;
  if (!shared.tls) return true;
  try {
    shared.tls->reload();
    shared.log.info("tls_reloaded");
    return true;
  } catch (const std::exception& e) {
    shared.log.error("tls_reload_failed", {{"reason", e.what()}});
    return false;
  }
}

void Edge::stop() {
  State& s = *state_;
  if (s.stopped) return;
  s.stopped = true;
  if (s.started) {
    s.shared.draining.store(true);
    for (auto& listener : s.listeners) listener->stop();
    for (auto& thread : s.threads) thread->drain();
    s.shared.waiters.end_all();
    s.wait_until_quiet(std::chrono::steady_clock::now() + s.shared.options.timeouts.drain);
    if (!s.quiet()) {
      s.shared.log.warn("drain_cut", {{"connections", static_cast<std::int64_t>(s.shared.counts.total())}});
      for (auto& thread : s.threads) thread->abandon();
      {
        const MutexLock lock(s.mutex);
        s.hurry = false;
      }
      s.wait_until_quiet(std::chrono::steady_clock::now() + kAbandonGrace);
    }
  }
  // The pools first: their jobs resume coroutines of the loops.
  s.shared.bytes_pool->join();
  s.shared.pool->join();
  for (auto& thread : s.threads) thread->join();
  // Jobs posted after a join never ran and still own connections: destroy them while their loops exist.
  s.shared.bytes_pool.reset();
  s.shared.pool.reset();
}

void Edge::stop_now() {
  const MutexLock lock(state_->mutex);
  state_->hurry = true;
  state_->changed.notify_all();
}

}  // namespace restante::net
