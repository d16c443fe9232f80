#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {
namespace {

// A run takes its time, and on a busy machine longer.
constexpr std::chrono::milliseconds kGrace = std::chrono::minutes(1);

void write_loop(JsonWriter& out, const LoopTick& loop, Time now) {
  const bool late = now > loop.due_at + std::max(loop.period, kGrace);
  out.member("name", loop.name);
  out.member("period_seconds", std::chrono::duration<double>(loop.period).count());
  out.member_or_null("last_tick_at", loop.last_tick_at);
  out.member("ok", !loop.failed && !late);
  // The reason may contain a path: it is only in the log.
  const std::string_view failed = "the last run failed; the reason is in the log's job_failed lines";
  out.member_or_null("error", late ? "it should have run again long ago" : loop.failed ? failed : std::string_view());
  out.member("failures", loop.failures);
}

void write_loops(JsonWriter& out, const Context& context) {
  out.objects("loops", context.loops(), [&](const LoopTick& loop) { write_loop(out, loop, context.clock.now()); });
}

void write_stores(JsonWriter& out, const std::vector<StoreState>& stores) {
  out.objects("stores", stores, [&](const StoreState& store) {
    out.member("name", store.name);
    out.member("ok", store.error.empty());
    out.member_or_null("error", store.error);
    out.member_or_null("kind", store.kind);
    out.member_or_null("detail", store.detail);
    out.member_or_null("place", store.place);
  });
}

void write_settings(JsonWriter& out, const std::vector<EffectiveSetting>& settings) {
  out.objects("settings", settings, [&](const EffectiveSetting& setting) {
    out.member("key", setting.key);
    out.member("value", setting.value);
    out.member_or_null("origin", setting.origin);
    out.member("help", setting.help);
  });
}

http::Response health_of(const Context& context) {
  const ServerFacts facts = context.facts();
  return object_answer(200, [&](JsonWriter& out) {
    out.member("version", facts.version);
    out.member("commit", facts.commit);
    out.member("compiler", facts.compiler);
    out.member("now", context.clock.now());
    out.member("started_at", facts.started_at);
    out.member("shared", facts.shared);
    write_stores(out, facts.stores);
    write_loops(out, context);
    write_settings(out, facts.settings);
    out.array("warnings", facts.warnings, [&](const std::string& sentence) { out.string(sentence); });
    out.member_or_null("clock_doubt", facts.clock_doubt);
  });
}

}  // namespace

http::Response liveness(const Context& context, http::Request&) {
  return object_answer(200, [&](JsonWriter& out) { write_loops(out, context); });
}

// It asks the place of the files, which may hang.
http::Response operator_health(const Context& context, http::Request&) {
  return http::from_bytes([&context] { return health_of(context); });
}

}  // namespace restante::api
