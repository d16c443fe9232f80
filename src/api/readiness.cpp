#include "api/readiness.h"

#include <optional>
#include <utility>

#include "base/commit.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/mutex.h"

namespace restante::api {
namespace {

// Long enough that asking often costs nothing, short enough for a load balancer.
constexpr auto kReadyLasts = std::chrono::seconds(2);
constexpr auto kNotReadyLasts = std::chrono::seconds(1);

struct Report {
  bool ready = true;
  std::string body;
  SteadyTime fresh_until;
};

http::Response to_response(const Report& report) {
  http::Response response = http::json(report.ready ? 200 : 503, report.body);
  if (!report.ready) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Report run_checks(const std::vector<ReadinessCheck>& checks) {
  Report report;
  report.body = json_object([&](JsonWriter& out) {
    out.object("checks", [&] {
      for (const ReadinessCheck& check : checks) {
        bool passed = true;
        try {
          check.check();
        } catch (const std::exception&) {
          // The reason is in the log; the answer only names the check.
          passed = false;
        }
        if (!passed && check.required) report.ready = false;
        out.member(check.name, passed ? std::string_view("ok") : check.when_failed);
      }
    });
    out.member("status", report.ready ? "ready" : "not_ready");
  });
  return report;
}

}  // namespace

struct Readiness::State {
  explicit State(std::vector<ReadinessCheck> all) : checks(std::move(all)) {}

  http::Response last_answer() {
    const MutexLock lock(mutex);
    if (!last) throw Unavailable("the check of readiness ended without a result");
    return to_response(*last);
  }

  const std::vector<ReadinessCheck> checks;
  Mutex mutex;
  std::shared_ptr<const Report> last RESTANTE_GUARDED_BY(mutex);
  std::optional<Commit<bool>> running RESTANTE_GUARDED_BY(mutex);
};

// One run of the checks. It also ends when nobody performs it: a connection may be lost before that.
class Readiness::Run {
 public:
  Run(std::shared_ptr<State> state, const Clock& clock) : state_(std::move(state)), clock_(clock) {}
  ~Run() { end(nullptr); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Commit<bool> ended() const { return promise_.commit(); }

  http::Response perform() {
    auto report = std::make_shared<Report>(run_checks(state_->checks));
    report->fresh_until = clock_.steady() + (report->ready ? kReadyLasts : kNotReadyLasts);
    http::Response response = to_response(*report);
    end(std::move(report));
    return response;
  }

 private:
  void end(std::shared_ptr<const Report> report) {
    if (std::exchange(ended_, true)) return;
    {
      const MutexLock lock(state_->mutex);
      if (report) state_->last = std::move(report);
      state_->running.reset();
    }
    promise_.fulfil(true);
  }

  const std::shared_ptr<State> state_;
  const Clock& clock_;
  CommitPromise<bool> promise_;
  bool ended_ = false;
};

Readiness::Readiness(std::vector<ReadinessCheck> checks) : state_(std::make_shared<State>(std::move(checks))) {}

http::Response Readiness::answer(const Clock& clock) const {
  std::shared_ptr<Run> run;  // outside of the lock, which its destructor takes
  std::optional<Commit<bool>> running;
  {
    const MutexLock lock(state_->mutex);
    if (state_->last && clock.steady() < state_->last->fresh_until) return to_response(*state_->last);
    if (!state_->running) {
      run = std::make_shared<Run>(state_, clock);
      state_->running = run->ended();
    }
    running = state_->running;
  }
  if (run) return http::from_bytes([run] { return run->perform(); });
  auto later = std::make_shared<http::Later>();
  later->when_done = [waited = *running](std::function<void()> callback) mutable {
    waited.on_done(std::move(callback));
  };
  later->answer = [state = state_] { return state->last_answer(); };
  http::Response response;
  response.content = std::move(later);
  return response;
}

}  // namespace restante::api
