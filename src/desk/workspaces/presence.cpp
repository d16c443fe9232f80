#include "desk/workspaces/presence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/mutex.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr int kUsualGaps = 5;
// A new gap has one eighth of the weight: about ten polls change the usual gap, one does not.
constexpr int kWeight = 8;

microseconds silence_limit(const std::optional<microseconds>& usual, microseconds shortest) {
  return std::max(shortest, usual.value_or(microseconds(0)) * kUsualGaps);
}

// A night with a closed laptop counts as the shortest gap that is a silence: it must not become the usual gap.
microseconds learn(const std::optional<microseconds>& usual, microseconds gap, microseconds shortest) {
  const microseconds counted = std::min(gap, silence_limit(usual, shortest));
  return usual ? *usual + (counted - *usual) / kWeight : counted;
}

enum class Silence { none, reported, not_poll_mode };

struct Agent {
  bool up = false;           // WORKSPACE_ONLINE was published
  int open = 0;              // polls
  bool polled_here = false;  // since this server started
  SteadyTime quiet_since;    // the end of the last poll, or the start of this server
  std::optional<Time> last_poll_at;
  std::optional<microseconds> usual_gap;
  Silence silence = Silence::none;
  std::optional<PollRecord> unwritten;

  std::optional<microseconds> silent_for(const Clock& clock, microseconds shortest) const {
    if (open > 0 || !last_poll_at) return std::nullopt;
    const auto quiet = std::chrono::duration_cast<microseconds>(clock.steady() - quiet_since);
    if (quiet <= silence_limit(usual_gap, shortest)) return std::nullopt;
    return polled_here ? quiet : std::max(quiet, clock.now() - *last_poll_at);
  }
  PollRecord& record(WorkspaceId id, Time now) {
    last_poll_at = now;
    if (!unwritten) unwritten = PollRecord{id, now};
    unwritten->at = now;
    unwritten->usual_gap = usual_gap;
    return *unwritten;
  }
};

std::string event_data(WorkspaceId id, const PollStatus& poll_status) {
  return json_object([&](JsonWriter& out) {
    out.member("workspace_id", id.text());
    out.member_if("last_poll_at", poll_status.last_poll_at);
    if (poll_status.silent_for) out.member("silent_for_seconds", poll_status.silent_for->count());
  });
}

std::string describe_span(seconds span) {
  const auto count = span.count();
  if (count < 120) return fmt::format("{} s", count);
  if (count < 2 * 3600) return fmt::format("{} min", count / 60);
  if (count < 48 * 3600) return fmt::format("{} h", count / 3600);
  return fmt::format("{} days", count / 86'400);
}

}  // namespace

struct Presence::Agents {
  // Reads the state at the start of the server, the first time.
  void load(WorkspaceStore& store, const Clock& clock, Metrics& metrics) RESTANTE_REQUIRES(mutex);

  Mutex mutex;  // polls begin and end on any pool thread
  bool loaded RESTANTE_GUARDED_BY(mutex) = false;
  std::unordered_map<WorkspaceId, Agent> all RESTANTE_GUARDED_BY(mutex);
};

class Presence::Poll {
 public:
  Poll(std::shared_ptr<Agents> agents, const Clock& clock, WorkspaceId id)
      : agents_(std::move(agents)), clock_(clock), id_(id) {}
  ~Poll() {
    const MutexLock lock(agents_->mutex);
    const auto found = agents_->all.find(id_);
    if (found == agents_->all.end() || found->second.open == 0) return;
    Agent& agent = found->second;
    if (--agent.open == 0) agent.quiet_since = clock_.steady();
    agent.record(id_, clock_.now());
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

 private:
  std::shared_ptr<Agents> agents_;
  const Clock& clock_;
  const WorkspaceId id_;
};

Presence::Presence(WorkspaceStore& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
                   seconds shortest_silence)
    : store_(store),
      event_bus_(event_bus),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      shortest_silence_(shortest_silence),
      agents_(std::make_shared<Agents>()) {}

void Presence::prepare() {
  const MutexLock lock(agents_->mutex);
  agents_->load(store_, clock_, metrics_);
}

void Presence::Agents::load(WorkspaceStore& store, const Clock& clock, Metrics& metrics) {
  if (loaded) return;
  for (const Workspace& workspace : store.list_workspaces()) {
    Agent& agent = all[workspace.id];
    agent.up = workspace.status == WorkspaceStatus::online || workspace.status == WorkspaceStatus::degraded;
    agent.quiet_since = clock.steady();
    agent.last_poll_at = workspace.last_poll_at;
    agent.usual_gap = workspace.usual_poll_gap;
    // An agent that is offline at the start had become silent before.
    const bool silent = !agent.up && workspace.last_poll_at && workspace.delivery_mode == DeliveryMode::poll;
    if (silent) agent.silence = Silence::reported;
    if (silent) metrics.silent_workspaces.Increment();
  }
  loaded = true;
}

std::shared_ptr<const void> Presence::poll(WorkspaceId id) {
  bool came_back = false;
  std::shared_ptr<const void> open;
  {
    const MutexLock lock(agents_->mutex);
    agents_->load(store_, clock_, metrics_);
    Agent& agent = agents_->all[id];
    open = std::make_shared<const Poll>(agents_, clock_, id);
    if (agent.open++ == 0 && agent.polled_here) {
      const auto gap = std::chrono::duration_cast<microseconds>(clock_.steady() - agent.quiet_since);
      agent.usual_gap = learn(agent.usual_gap, gap, shortest_silence_);
    }
    agent.polled_here = true;
    agent.record(id, clock_.now());
    came_back = !agent.up || agent.silence == Silence::reported;
    agent.up = true;
    if (agent.silence == Silence::reported) metrics_.silent_workspaces.Decrement();
    agent.silence = Silence::none;
  }
  if (came_back) publish_status(id, "WORKSPACE_ONLINE", {});
  return open;
}

void Presence::acked(WorkspaceId id, const InboxQuery& cursor) {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  PollRecord& record = found->second.record(id, clock_.now());
  record.acked_seq = std::max(record.acked_seq, cursor.since_seq.value_or(0));
  if (cursor.since_id) record.acked_id = cursor.since_id;
}

std::int64_t Presence::acked_seq(WorkspaceId id) const {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  return found != agents_->all.end() && found->second.unwritten ? found->second.unwritten->acked_seq : 0;
}

void Presence::seen(WorkspaceId id) {
  {
    const MutexLock lock(agents_->mutex);
    if (!agents_->loaded) return;
    Agent& agent = agents_->all[id];
    if (agent.up) return;
    agent.up = true;
  }
  publish_status(id, "WORKSPACE_ONLINE", {});
}

void Presence::went_offline(WorkspaceId id) {
  {
    const MutexLock lock(agents_->mutex);
    agents_->all[id].up = false;
  }
  publish_status(id, "WORKSPACE_OFFLINE", {});
}

void Presence::forget(WorkspaceId id) {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  if (found->second.silence == Silence::reported) metrics_.silent_workspaces.Decrement();
  agents_->all.erase(found);
}

PollStatus Presence::poll_status(const Workspace& workspace) {
  const MutexLock lock(agents_->mutex);
  agents_->load(store_, clock_, metrics_);
  PollStatus poll_status{workspace.last_poll_at, workspace.usual_poll_gap, {}, false};
  const auto found = agents_->all.find(workspace.id);
  if (found == agents_->all.end()) return poll_status;
  const Agent& agent = found->second;
  poll_status.last_poll_at = std::max(poll_status.last_poll_at, agent.last_poll_at);
  if (agent.usual_gap) poll_status.usual_gap = agent.usual_gap;
  poll_status.listening = agent.open > 0;
  if (workspace.delivery_mode != DeliveryMode::poll) return poll_status;
  const auto silent = agent.silent_for(clock_, shortest_silence_);
  if (silent) poll_status.silent_for = std::chrono::duration_cast<seconds>(*silent);
  return poll_status;
}

std::vector<WorkspaceId> Presence::flush() {
  std::vector<PollRecord> records;
  {
    const MutexLock lock(agents_->mutex);
    for (auto& [id, agent] : agents_->all) {
      if (agent.unwritten) records.push_back(*std::exchange(agent.unwritten, std::nullopt));
    }
  }
  std::vector<WorkspaceId> acked;
  if (records.empty()) return acked;
  try {
    (void)store_.record_polls(records).take();
  } catch (...) {
    const MutexLock lock(agents_->mutex);
    for (const PollRecord& record : records) {
      const auto found = agents_->all.find(record.id);
      if (found == agents_->all.end()) continue;
      auto& newer = found->second.unwritten;
      if (!newer) newer = record;
      newer->acked_seq = std::max(newer->acked_seq, record.acked_seq);
      if (!newer->acked_id) newer->acked_id = record.acked_id;
    }
    throw;
  }
  for (const PollRecord& record : records) {
    if (record.acked_seq > 0 || record.acked_id) acked.push_back(record.id);
  }
  return acked;
}

void Presence::report_silences() {
  std::vector<WorkspaceId> silent;
  {
    const MutexLock lock(agents_->mutex);
    agents_->load(store_, clock_, metrics_);
    for (const auto& [id, agent] : agents_->all) {
      if (agent.silence == Silence::none && agent.silent_for(clock_, shortest_silence_)) silent.push_back(id);
    }
  }
  for (const WorkspaceId& id : silent) {
    const auto workspace = store_.find_workspace(id);
    const bool poll_mode = workspace && workspace->delivery_mode == DeliveryMode::poll;
    PollStatus now;
    if (workspace) now = poll_status(*workspace);
    {
      const MutexLock lock(agents_->mutex);
      const auto found = agents_->all.find(id);
      if (found == agents_->all.end() || (poll_mode && !now.silent_for) || found->second.open > 0) continue;
      found->second.silence = poll_mode ? Silence::reported : Silence::not_poll_mode;
      if (poll_mode) metrics_.silent_workspaces.Increment();
    }
    if (poll_mode) publish_status(id, "WORKSPACE_SILENT", now);
  }
}

void Presence::publish_status(WorkspaceId id, std::string_view event, const PollStatus& poll_status) {
  const std::string_view line = event == "WORKSPACE_SILENT"   ? "workspace_silent"
                                : event == "WORKSPACE_ONLINE" ? "workspace_online"
                                                              : "workspace_offline";
  log_.info(line, {{"workspace_id", id.text()}});
  event_bus_.publish(id, event, event_data(id, poll_status));
}

std::string describe_silence(const Workspace& workspace, const PollStatus& poll_status) {
  if (poll_status.silent_for) return "silent for " + describe_span(*poll_status.silent_for);
  const bool waited_for =
      workspace.delivery_mode == DeliveryMode::poll && !poll_status.last_poll_at && !poll_status.listening;
  return waited_for ? "never polled" : std::string();
}

}  // namespace restante::desk
