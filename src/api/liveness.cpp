#include "api/liveness.h"

#include "api/answers.h"

namespace restante::api {
namespace {

// A run takes its time, and a busy machine takes more.
constexpr std::chrono::milliseconds kGrace = std::chrono::minutes(1);

void write_loop(JsonWriter& out, const LoopTick& loop, Time now) {
  const bool late = now > loop.due_at + std::max(loop.period, kGrace);
  out.begin_object();
  out.member("name", loop.name);
  out.key("period_seconds");
  out.real(std::chrono::duration<double>(loop.period).count());
  write_time(out, "last_tick_at", loop.last_tick_at);
  out.key("ok");
  out.boolean(!loop.failed && !late);
  out.key("error");
  // The reason may hold a path: it is for the log.
  if (late) {
    out.string("it should have run again long ago");
  } else if (loop.failed) {
    out.string("the last run failed; the log says why in its job_failed lines");
  } else {
    out.null();
  }
  out.member("failures", loop.failures);
  out.end_object();
}

}  // namespace

http::Response liveness(const Context& context, http::Request&) {
  JsonWriter out;
  out.begin_object();
  out.key("loops");
  out.begin_array();
  for (const LoopTick& loop : context.loops()) write_loop(out, loop, context.clock.now());
  out.end_array();
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace restante::api
