#include "server/platform/platform.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "api/routes.h"
#include "base/alarm.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/text.h"
#include "desk/delegations/stuck_sweep.h"
#include "desk/events/other_servers.h"
#include "desk/inbox/retention.h"
#include "model/errors.h"
#include "net/edge.h"
#include "net/lookup.h"
#include "server/places/places.h"
#include "server/platform/embedded.h"
#include "server/platform/facts.h"
#include "server/platform/file_times.h"
#include "server/platform/rules.h"
#include "server/platform/watchdog.h"
#include "server/secrets/admin_token.h"
#include "server/secrets/secret_file.h"
#include "store/migration.h"
#include "store/owner.h"

namespace restante {
namespace {

constexpr auto kResolveTimeout = std::chrono::seconds(5);    // a registration waits for it on a pool thread
constexpr auto kAdminTokenPeriod = std::chrono::seconds(1);  // how often requests of a replaced token are ended
constexpr auto kClockPeriod = std::chrono::seconds(1);       // of looking whether the clock was set
constexpr std::chrono::milliseconds kSweepPeriod = std::chrono::seconds(1);  // of checking whether a sweep is due
constexpr auto kOwnerPeriod = std::chrono::seconds(10);      // of checking whether the written places are still ours
constexpr std::chrono::milliseconds kMovePeriod{200};        // between steps of a blob move, so that other jobs can run
constexpr auto kRetentionPeriod = std::chrono::seconds(10);  // of its bounded steps; a pass begins every hour
constexpr std::chrono::milliseconds kStopGrace = std::chrono::seconds(5);  // for the database, once requests have ended
constexpr std::chrono::milliseconds kFastStopGrace = std::chrono::seconds(1);

std::filesystem::path data_directory(const Config& config) {
  const std::filesystem::path data = config.data;
  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (!error) std::filesystem::permissions(data, std::filesystem::perms::owner_all, error);
  if (!error && ::access(data.c_str(), W_OK | X_OK) != 0) error.assign(errno, std::generic_category());
  if (!error) return data;
  throw Unavailable(
      fmt::format("data: the directory {} cannot be used: {}; give it to the user who runs this, or choose "
                  "another with --data",
                  data.string(), error.message()));
}

Digest metrics_token(const Config& config) {
  if (config.metrics.token_file.empty()) return {};
  std::ifstream in(config.metrics.token_file);
  std::string secret;
  std::getline(in, secret);
  return sha256(secret);
}

// Nothing is destroyed: that would wait for the writer that does not return. 75, as commands use it: try again.
[[noreturn]] void end_process(Log& log) {
  log.flush(std::chrono::seconds(2));
  std::_Exit(75);
}

std::vector<std::string> resolve(const std::string& host) {
  std::vector<std::string> addresses;
  for (const auto& address : net::look_up_now(host, kResolveTimeout).found) addresses.push_back(address.to_string());
  return addresses;
}

}  // namespace

class Platform::Parts {
 public:
  explicit Parts(const Config& config)
      : drain(config.net.timeouts.drain),
        log(STDERR_FILENO, config.log.level, clock),
        metrics({std::string(version()), std::string(commit()), compiler()}),
        data(data_directory(config)),
        newest_file(is_shared(config) ? std::nullopt : newest_file_time(database_file(config))),
        store(open_store(config, clock, metrics, announcements, shutdown_deadline)),
        clock_check(*store, clock, log, metrics, clock_rules(config)),
        watchdog([this] { return store->writers(); }, log, metrics,
                 {config.watchdog.stalled_after, config.watchdog.end_after}, [this] { end_process(log); }),
        blobs(config, *store, clock, log, metrics),
        owner(*store, blobs.by_place(), clock, log, metrics, owner_rules(config)),
        places(blobs.by_place(), plan_of(config), log, metrics, &owner),
        admin(restante::admin_token(config.admin_token, data, log)),
        seal(server_key(config.server_key, data, log)),
        callbacks(clock, {}),
        edge(config.net, clock, log, metrics),
        event_bus(edge.bell(), &announcements),
        principals(*store, edge.bell(), clock, sha256(admin)),
        invalid_token_limiter(clock, config.invalid_tokens_per_minute),
        series(metrics, clock, {config.metrics.sample_every}),
        presence(*store, event_bus, clock, log, metrics, presence_rules(config)),
        workspaces(*store, presence, event_bus, clock, log),
        tokens(*store, edge.bell(), clock, log),
        access(*store, config.access_roots == "isolated" ? desk::Roots::isolated : desk::Roots::talk),
        inbox(*store, presence, event_bus, clock),
        chat_history(*store),
        other_servers(announcements, event_bus, edge.bell(), log,
                      [this] {
                        inbox.forget_gaps();
                        chat_history.forget_gaps();
                      }),
        events(*store, event_bus, principals),
        messages(*store, event_bus, clock, log),
        idempotency_locks(*store, clock),
        uploads(*store, places, event_bus, clock, log, metrics, upload_rules(config, places)),
        outgoing(*store, uploads, messages, clock),
        room(room_rules(config)),
        sweep(*store, places, uploads.events(), clock, log, metrics, sweep_rules(config)),
        blob_moves(*store, places, uploads.integrity(), clock, log, metrics, blob_move_rules(config)),
        blob_check(*store, places, uploads.integrity(), clock, log, metrics, blob_check_rules(config)),
        delegations(*store, uploads, presence, event_bus, clock, log, metrics, delegation_rules(config)),
        stuck_sweep(*store, delegations, clock, log, metrics, stuck_rules(config)),
        retention(*store, clock, log, metrics, {config.activity.retention, config.activity.ceiling}),
        secrets(*store, seal, clock, log),
        upload_pushes(*store, event_bus, clock, log, metrics),
        push{callbacks,
             secrets,
             upload_pushes,
             address_rules(config),
             config.push.timeout,
             resolve,
             config.push.stage_when_down},
        context{clock,
                metrics,
                principals,
                invalid_token_limiter,
                workspaces,
                tokens,
                access,
                inbox,
                chat_history,
                events,
                messages,
                idempotency_locks,
                uploads,
                outgoing,
                sweep,
                delegations,
                push,
                readiness(),
                page_files(),
                config.public_url,
                config.allowed_hosts,
                config.open_registration,
                loopback_only(config) && !behind_proxy(config),
                metrics_token(config)} {
    log.info("starting",
             {{"version", version()}, {"commit", commit()}, {"compiler", compiler()}, {"data", data.string()}});
    log.info("configuration", {{"toml", print_config(config)}});
    for (const std::string& sentence : warnings(config)) log.warn("configuration_warning", {{"sentence", sentence}});
    ObserverFailures::report_to([this](const char* reason) {
      log.error("observer_failed", {{"reason", reason}});
      metrics.observer_failures.Increment();
    });
    check_places();
    check_clock();
    context.rotate_admin_token = [this, given = !config.admin_token.empty()]() -> Result<std::string> {
      if (given) return errors::admin_token_given;
      const MutexLock lock(rotation);
      std::string fresh = replace_admin_token(data, log);
      principals.replace_admin(sha256(fresh));
      return fresh;
    };
    if (is_shared(config) && config.admin_token.empty()) share_admin_token();
    context.loops = [this, files = config.uploads.sweep_every, tasks = config.delegations.sweep_every] {
      return loops(files, tasks);
    };
    push.call = [this](http::Forward order) { edge.call(std::move(order)); };
    context.programs = open_programs();
    context.series = &series;
    context.room = &room;
    context.blob_check = &blob_check;
    context.blob_moves = &blob_moves;
    context.clock_check = &clock_check;
    context.facts = [this, config] { return facts(config); };
    api::add_routes(router, context);
    edge.every(kPresencePeriod, "presence", [this] {
      write_signs_of_life();
      workspaces.set_unseen_agents_offline();
      presence.report_silences();
    });
    edge.every(kClockPeriod, "clock", [this] {
      if (store->uploads_ready()) clock_check.tick();  // its table is newer than those of uploads
    });
    edge.every(kRetentionPeriod, "retention", [this] { retention.tick(); });
    edge.every(std::min(config.uploads.sweep_every, kSweepPeriod), "sweep", [this] { sweep.tick(); });
    edge.every(std::min(config.delegations.sweep_every, kSweepPeriod), "delegations", [this] {
      if (store->uploads_ready()) stuck_sweep.tick();  // the tables of tasks are newer than those of uploads
    });
    edge.every(kCheckPeriod, "blob_check", [this] { blob_check.tick(); });
    edge.every(kCheckPeriod, "blob_check_beat", [this] { blob_check.beat(); });
    edge.every(kOwnerPeriod, "owner", [this] { recheck_places(); });
    edge.every(kMovePeriod, "blob_moves", [this] { blob_moves.tick(); });
    edge.every(check_period(config), "integrity", [this] { uploads.integrity().tick(); });
    watchdog.start();
    series.tick();
    edge.every(config.metrics.sample_every, "series", [this] { series.tick(); });
  }

  ~Parts() {
    stop();
    try {
      write_signs_of_life();
    } catch (const std::exception& e) {
      log.warn("presence_lost", {{"reason", e.what()}});  // loses seconds of "last seen", no messages or files
    }
    try {
      blob_check.release();
    } catch (const std::exception& e) {
      log.warn("blob_check_not_left", {{"reason", e.what()}});  // it will be reported as interrupted
    }
    watchdog.stop();
    // The writer is destroyed before the edge: a commit for which no client waits still rings the edge's bell.
    store.reset();
    ObserverFailures::report_to({});
    log.info("stopped");
  }

  void stop() {
    sweep.stop();
    blob_check.stop();
    blob_moves.stop();
    stuck_sweep.stop();
    uploads.integrity().stop();
    // An unreachable database must not delay the end: running requests may wait for it for the drain time, and later no
    // client waits for an answer.
    shutdown_deadline.end_within(drain + kStopGrace);
    {
      const Alarm over(drain, [this] { blobs.cancel(); });
      edge.stop();
    }
    blobs.cancel();
    shutdown_deadline.end_within(kStopGrace);
  }

  void stop_now() {
    shutdown_deadline.end_within(kFastStopGrace);
    blobs.cancel();
    edge.stop_now();
  }

  // Before the first upload: a server that would write into a place of another installation does not start.
  void check_places() {
    try {
      owner.ensure_installation();
    } catch (const Unavailable& e) {
      log.warn("place_not_asked", {{"reason", e.what()}});
    }
    const PlacePlan plan = places.plan();
    for (const Place place : kPlaces) {
      if (!writes_to(plan, place)) continue;
      if (const std::string why = owner.refusal_reason(place); !why.empty()) throw OpenRefused(why);
    }
  }

  // Before the first sweep. The loop tries again what fails here; until then nothing expires.
  void check_clock() {
    try {
      if (store->uploads_ready()) clock_check.tick();
    } catch (const Unavailable& e) {
      log.warn("clock_not_compared", {{"reason", e.what()}});
    }
  }

  desk::ClockCheckRules clock_rules(const Config& config) {
    desk::ClockCheckRules rules;
    rules.confirm = config.clock_confirm;
    rules.newest_file = newest_file;
    rules.differences = [this] {
      ClockDifferences all;
      const Time machine = SystemClock().now();
      if (clock.is_set()) all.database = clock.now() - machine;
      if (const auto files = file_system_time(data)) all.files = *files - machine;
      return all;
    };
    return rules;
  }

  void recheck_places() {
    const PlacePlan plan = places.plan();
    owner.recheck(plan.write);
    if (plan.also) owner.recheck(*plan.also);
  }

  // Another server on the same data directory may replace it.
  void share_admin_token() {
    principals.share_admin([file = std::make_shared<AdminTokenFile>(data)] { return file->current_digest(); });
    edge.every(kAdminTokenPeriod, "admin_token", [this] { principals.check_admin_token(); });
  }

  void write_signs_of_life() {
    for (const WorkspaceId& acked : presence.flush()) delegations.mark_acked(acked);
    principals.flush_uses();
  }

  // Reports the sweep itself: that the loop checked a second ago whether one is due is no information.
  std::vector<LoopTick> loops(std::chrono::milliseconds files, std::chrono::milliseconds tasks) const {
    std::vector<LoopTick> all = edge.loops();
    for (LoopTick& loop : all) {
      if (loop.name == "sweep") loop = sweep.last_run().as_loop_tick(loop, files);
      if (loop.name == "delegations") loop = stuck_sweep.last_run().as_loop_tick(loop, tasks);
    }
    return all;
  }

  api::ServerFacts facts(const Config& config) {
    api::ServerFacts all{std::string(version()), std::string(commit()), compiler(), started_at, is_shared(config)};
    const PlacePlan plan = places.plan();
    all.stores = {state_of_rows(config, *store),
                  state_of_blobs(config, plan, [this] { places.check(); }, blobs.trouble(plan))};
    all.settings = effective_settings(config);
    all.warnings = warnings(config);
    try {
      watchdog.require_moving();
    } catch (const Unavailable& e) {
      all.warnings.emplace_back(e.what());
    }
    if (std::string sentence = blob_moves.disagreement(); !sentence.empty()) all.warnings.push_back(sentence);
    if (std::string sentence = owner.disagreement(); !sentence.empty()) all.warnings.push_back(sentence);
    all.clock_doubt = clock_check.doubt();
    return all;
  }

  // A failure is logged when it begins and when its reason changes, not each time it is found.
  std::function<void()> logged_check(const char* name, std::function<void()> check) {
    return [this, name, check = std::move(check), last = std::string()]() mutable {
      try {
        check();
        if (!std::exchange(last, {}).empty()) log.info("ready_again", {{"check", name}});
      } catch (const std::exception& e) {
        const std::string reason = *e.what() ? e.what() : "it failed without a reason";
        if (std::exchange(last, reason) != reason) log.error("not_ready", {{"check", name}, {"reason", reason}});
        throw;
      }
    };
  }

  std::vector<api::ReadinessCheck> readiness() {
    const auto logged = [this](const char* name, std::function<void()> check) {
      return api::ReadinessCheck{name, logged_check(name, std::move(check))};
    };
    std::vector<api::ReadinessCheck> checks{logged("database", [this] { store->check(); }),
                                            logged("writer", [this] { watchdog.require_moving(); }),
                                            logged("blobs", [this] { places.check(); })};
    if (uploads.rules().staging) checks.push_back(logged("uploads", [this] { store->require_uploads(); }));
    // Not logged here: the check of the clock does that.
    const auto require_trusted = [this] {
      if (!clock.trusted()) throw Unavailable("the clock is in doubt");
    };
    checks.push_back({"clock", require_trusted, false, "doubted"});
    add_room(checks);
    return checks;
  }

  // Not required: acks and fetches, which make room, are served, and another server on this database has no more room.
  void add_room(std::vector<api::ReadinessCheck>& checks) {
    const auto check_of = [this](const char* name, std::function<bool()> has_room) {
      return api::ReadinessCheck{name,
                                 logged_check(name,
                                              [has_room = std::move(has_room)] {
                                                if (!has_room()) throw Unavailable("storage.reserve is reached");
                                              }),
                                 false, "none"};
    };
    checks.push_back(check_of("room_for_files", [this] { return uploads.has_room(0); }));
    checks.push_back(check_of("room_for_messages", [this] { return room.check_rows(0).has_value(); }));
  }

  const std::chrono::milliseconds drain;
  ShutdownDeadline shutdown_deadline;
  DisciplinedClock clock;
  const Time started_at = clock.now();
  Log log;
  Metrics metrics;
  Announcements announcements;
  std::filesystem::path data;
  const std::optional<Time> newest_file;  // before the store is opened, which writes
  std::unique_ptr<Store> store;
  desk::ClockCheck clock_check;
  Watchdog watchdog;  // destroyed before the store that it asks
  OpenPlaces blobs;
  Owner owner;
  Places places;
  std::string admin;
  Seal seal;
  desk::Callbacks callbacks;  // before the edge: a running call returns its permit when the edge is destroyed
  net::Edge edge;
  Mutex rotation;  // two at once must not leave one token in the file and the other in memory
  desk::EventBus event_bus;
  desk::Principals principals;
  desk::InvalidTokenLimiter invalid_token_limiter;
  desk::Series series;
  desk::Presence presence;
  desk::Workspaces workspaces;
  desk::Tokens tokens;
  desk::Access access;
  desk::Inbox inbox;
  desk::ChatHistory chat_history;
  desk::OtherServers other_servers;
  desk::Events events;
  desk::Messages messages;
  desk::IdempotencyLocks idempotency_locks;
  desk::Uploads uploads;
  desk::Outgoing outgoing;
  desk::Room room;
  desk::Sweep sweep;
  desk::BlobMoves blob_moves;
  desk::BlobCheck blob_check;
  desk::Delegations delegations;
  desk::StuckSweep stuck_sweep;
  desk::Retention retention;
  desk::InboundSecrets secrets;
  desk::UploadPushes upload_pushes;
  api::Push push;
  api::Context context;
  http::Router router;
};

Platform::Platform(const Config& config) : parts_(std::make_unique<Parts>(config)) {}
Platform::~Platform() = default;
void Platform::start() { parts_->edge.start(parts_->router); }
std::vector<std::string> Platform::addresses() const { return parts_->edge.addresses(); }
void Platform::reload() { parts_->edge.reload_tls(); }
void Platform::stop() { parts_->stop(); }
void Platform::stop_now() { parts_->stop_now(); }
desk::Workspaces& Platform::workspaces() { return parts_->workspaces; }
const std::string& Platform::admin_token() const { return parts_->admin; }

}  // namespace restante
