#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {
namespace {

// A run takes its time, and on a busy machine longer.
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
  // The reason may contain a path: it is only in the log.
  if (late) {
    out.string("it should have run again long ago");
  } else if (loop.failed) {
    out.string("the last run failed; the reason is in the log's job_failed lines");
  } else {
    out.null();
  }
  out.member("failures", loop.failures);
  out.end_object();
}

void write_loops(JsonWriter& out, const Context& context) {
  out.key("loops");
  out.begin_array();
  for (const LoopTick& loop : context.loops()) write_loop(out, loop, context.clock.now());
  out.end_array();
}

void write_stores(JsonWriter& out, const std::vector<StoreState>& stores) {
  out.key("stores");
  out.begin_array();
  for (const StoreState& store : stores) {
    out.begin_object();
    out.member("name", store.name);
    out.key("ok");
    out.boolean(store.error.empty());
    write_text(out, "error", store.error);
    write_text(out, "kind", store.kind);
    write_text(out, "detail", store.detail);
    write_text(out, "place", store.place);
    out.end_object();
  }
  out.end_array();
}

void write_settings(JsonWriter& out, const std::vector<EffectiveSetting>& settings) {
  out.key("settings");
  out.begin_array();
  for (const EffectiveSetting& setting : settings) {
    out.begin_object();
    out.member("key", setting.key);
    out.member("value", setting.value);
    write_text(out, "origin", setting.origin);
    out.member("help", setting.help);
    out.end_object();
  }
  out.end_array();
}

http::Response health_of(const Context& context) {
  const ServerFacts facts = context.facts();
  JsonWriter out;
  out.begin_object();
  out.member("version", facts.version);
  out.member("commit", facts.commit);
  out.member("compiler", facts.compiler);
  out.member("now", format_time(context.clock.now()));
  out.member("started_at", format_time(facts.started_at));
  out.key("shared");
  out.boolean(facts.shared);
  write_stores(out, facts.stores);
  write_loops(out, context);
  write_settings(out, facts.settings);
  out.key("warnings");
  out.begin_array();
  for (const std::string& sentence : facts.warnings) out.string(sentence);
  out.end_array();
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace

http::Response liveness(const Context& context, http::Request&) {
  JsonWriter out;
  out.begin_object();
  write_loops(out, context);
  out.end_object();
  return http::json(200, out.take());
}

// It asks the place of the files, which may hang.
http::Response operator_health(const Context& context, http::Request&) {
  return http::from_bytes([&context] { return health_of(context); });
}

}  // namespace restante::api
