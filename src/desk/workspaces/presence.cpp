#include "desk/workspaces/presence.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

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

struct Agent {
  bool up = false;           // WORKSPACE_ONLINE was published
  bool silent = false;       // WORKSPACE_SILENT was published
  bool judged = false;       // report_silences() has looked at this silence
  int open = 0;              // polls
  bool polled_here = false;  // since this server started
  SteadyTime seen_at{};      // its last sign of life here
  SteadyTime quiet_since{};  // the end of its last poll here
  std::optional<Time> last_poll_at;
  std::optional<microseconds> usual_gap;
  std::optional<PollRecord> unwritten;
  SteadyTime recorded_at{};

  microseconds quiet_for(SteadyTime now) const {
    return open > 0 ? microseconds(0) : std::chrono::duration_cast<microseconds>(now - quiet_since);
  }
  PollRecord& record(WorkspaceId id, const Clock& clock) {
    recorded_at = seen_at = clock.steady();
    last_poll_at = clock.now();
    if (!unwritten) unwritten = PollRecord{id, *last_poll_at};
    unwritten->at = *last_poll_at;
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
  Mutex mutex;                                                            // polls begin and end on any pool thread
  std::unordered_map<WorkspaceId, Agent> all RESTANTE_GUARDED_BY(mutex);  // that were seen here
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
    agent.record(id_, clock_);
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

 private:
  std::shared_ptr<Agents> agents_;
  const Clock& clock_;
  const WorkspaceId id_;
};

Presence::Presence(WorkspaceStore& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
                   PresenceRules rules)
    : store_(store),
      event_bus_(event_bus),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      rules_(rules),
      started_(clock.steady()),
      agents_(std::make_shared<Agents>()) {}

// After a long silence another server may have reported it, or set it offline.
void Presence::prepare(WorkspaceId id, Sign sign) {
  const auto is_recent = [&]() RESTANTE_REQUIRES(agents_->mutex) {
    const auto known = agents_->all.find(id);
    if (known == agents_->all.end()) return false;
    const Agent& agent = known->second;
    const SteadyTime last = sign == Sign::poll ? agent.quiet_since : agent.seen_at;
    return agent.open > 0 || clock_.steady() - last <= rules_.shortest_silence;
  };
  {
    const MutexLock lock(agents_->mutex);
    if (is_recent()) return;
  }
  const auto workspace = store_.find_workspace(id);
  const bool silent = workspace && store_.is_reported_silent(id);
  const MutexLock lock(agents_->mutex);
  if (is_recent()) return;
  Agent& agent = agents_->all[id];
  agent.seen_at = clock_.steady();
  if (!workspace) return;
  agent.up = workspace->status == WorkspaceStatus::online || workspace->status == WorkspaceStatus::degraded;
  agent.silent = silent;
  if (!agent.polled_here) agent.last_poll_at = workspace->last_poll_at;
  if (!agent.polled_here) agent.usual_gap = workspace->usual_poll_gap;
}

std::shared_ptr<const void> Presence::poll(WorkspaceId id) {
  prepare(id, Sign::poll);
  bool came_back = false;
  std::shared_ptr<const void> open;
  {
    const MutexLock lock(agents_->mutex);
    Agent& agent = agents_->all[id];
    open = std::make_shared<const Poll>(agents_, clock_, id);
    if (agent.open == 0 && agent.polled_here) {
      const microseconds gap = agent.quiet_for(clock_.steady());
      agent.usual_gap = learn(agent.usual_gap, gap, rules_.shortest_silence);
    }
    ++agent.open;
    agent.polled_here = true;
    agent.judged = false;
    agent.record(id, clock_);
    came_back = !agent.up || agent.silent;
    agent.up = true;
    if (std::exchange(agent.silent, false)) metrics_.silent_workspaces.Decrement();
  }
  if (came_back) publish_status(id, "WORKSPACE_ONLINE", {});
  return open;
}

void Presence::acked(WorkspaceId id, const InboxQuery& cursor) {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  PollRecord& record = found->second.record(id, clock_);
  record.acked_seq = std::max(record.acked_seq, cursor.since_seq.value_or(0));
  if (cursor.since_id) record.acked_id = cursor.since_id;
}

std::int64_t Presence::acked_seq(WorkspaceId id) const {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  return found != agents_->all.end() && found->second.unwritten ? found->second.unwritten->acked_seq : 0;
}

std::optional<InboxRowId> Presence::acked_id(WorkspaceId id) const {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end() || !found->second.unwritten) return std::nullopt;
  return found->second.unwritten->acked_id;
}

void Presence::seen(WorkspaceId id) {
  {
    const MutexLock lock(agents_->mutex);
    Agent& agent = agents_->all[id];
    agent.seen_at = clock_.steady();
    if (agent.up) return;
    agent.up = true;
  }
  publish_status(id, "WORKSPACE_ONLINE", {});
}

void Presence::went_offline(WorkspaceId id) {
  {
    const MutexLock lock(agents_->mutex);
    if (const auto found = agents_->all.find(id); found != agents_->all.end()) found->second.up = false;
  }
  publish_status(id, "WORKSPACE_OFFLINE", {});
}

void Presence::forget(WorkspaceId id) {
  const MutexLock lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  if (found->second.silent) metrics_.silent_workspaces.Decrement();
  agents_->all.erase(found);
}

microseconds Presence::written_late() const {
  if (rules_.alone) return microseconds(0);
  return rules_.shortest_silence / 2 + 2 * rules_.flush_every;
}

std::optional<microseconds> Presence::silent_for(const Workspace& workspace) const {
  const SteadyTime now = clock_.steady();
  std::optional<microseconds> here;
  std::optional<microseconds> usual = workspace.usual_poll_gap;
  {
    const MutexLock lock(agents_->mutex);
    const auto found = agents_->all.find(workspace.id);
    if (found != agents_->all.end() && found->second.polled_here) {
      const Agent& agent = found->second;
      usual = agent.usual_gap;
      here = agent.quiet_for(now);
      if (*here <= silence_limit(usual, rules_.shortest_silence)) return std::nullopt;
      // Nobody has polled elsewhere since.
      if (rules_.alone || workspace.last_poll_at <= agent.last_poll_at) return here;
    }
  }
  if (!workspace.last_poll_at) return here;
  const microseconds limit = silence_limit(usual, rules_.shortest_silence) + written_late();
  const auto ran = std::chrono::duration_cast<microseconds>(now - started_);
  if (ran <= limit) return std::nullopt;
  const microseconds since = clock_.now() - *workspace.last_poll_at;
  // Without other servers it cannot have polled, whatever the wall clock shows.
  if (rules_.alone) return std::max(ran, since);
  return since > limit ? std::optional(since) : std::nullopt;
}

PollStatus Presence::poll_status(const Workspace& workspace) {
  PollStatus poll_status{workspace.last_poll_at, workspace.usual_poll_gap, {}, false};
  {
    const MutexLock lock(agents_->mutex);
    if (const auto found = agents_->all.find(workspace.id); found != agents_->all.end()) {
      const Agent& agent = found->second;
      poll_status.last_poll_at = std::max(poll_status.last_poll_at, agent.last_poll_at);
      if (agent.usual_gap) poll_status.usual_gap = agent.usual_gap;
      poll_status.listening = agent.open > 0;
    }
  }
  if (workspace.delivery_mode != DeliveryMode::poll) return poll_status;
  const auto silent = silent_for(workspace);
  if (silent) poll_status.silent_for = std::chrono::duration_cast<seconds>(*silent);
  return poll_status;
}

std::vector<WorkspaceId> Presence::flush() {
  std::vector<PollRecord> records;
  {
    const MutexLock lock(agents_->mutex);
    const SteadyTime long_ago = clock_.steady() - rules_.shortest_silence / 2;
    for (auto& [id, agent] : agents_->all) {
      if (!rules_.alone && agent.open > 0 && agent.recorded_at < long_ago) agent.record(id, clock_);
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

// Agents whose last poll was here.
std::vector<QuietAgent> Presence::quiet_here() {
  const SteadyTime now = clock_.steady();
  std::vector<QuietAgent> quiet;
  const MutexLock lock(agents_->mutex);
  for (auto& [id, agent] : agents_->all) {
    if (!agent.polled_here || agent.judged) continue;
    if (agent.quiet_for(now) <= silence_limit(agent.usual_gap, rules_.shortest_silence)) continue;
    agent.judged = true;
    // The store ignores it if it has polled elsewhere since. Without other servers it has not, even if the wall clock
    // was set back and its earlier polls seem to be later.
    quiet.push_back({id, rules_.alone ? Time::max() : agent.last_poll_at.value_or(Time::max())});
  }
  return quiet;
}

// Agents whose last poll was not here: at another server, or before this one started.
std::vector<QuietAgent> Presence::quiet_elsewhere() {
  const auto ran = std::chrono::duration_cast<microseconds>(clock_.steady() - started_);
  const Time now = clock_.now();
  if (ran <= rules_.shortest_silence + written_late()) return {};
  auto quiet = store_.list_quiet_agents(now - rules_.shortest_silence - written_late());
  const MutexLock lock(agents_->mutex);
  std::erase_if(quiet, [&](const QuietAgent& one) RESTANTE_REQUIRES(agents_->mutex) {
    const microseconds limit = silence_limit(one.usual_gap, rules_.shortest_silence) + written_late();
    const auto known = agents_->all.find(one.id);
    const bool seen_here = known != agents_->all.end() && known->second.polled_here;
    // An agent that polls here is judged by the steady clock, and one that did and left by the server that it polls.
    if (seen_here && (rules_.alone || known->second.quiet_for(clock_.steady()) <= limit)) return true;
    return ran <= limit || now - one.last_poll_at <= limit;
  });
  return quiet;
}

Result<std::vector<WorkspaceId>> Presence::record_silences(const std::vector<QuietAgent>& here) {
  try {
    std::vector<QuietAgent> quiet = here;
    for (QuietAgent& one : quiet_elsewhere()) quiet.push_back(one);
    return store_.record_silences(std::move(quiet), clock_.now()).take();
  } catch (...) {
    // Nobody was told: the next call judges them again.
    const MutexLock lock(agents_->mutex);
    for (const QuietAgent& one : here) {
      const auto found = agents_->all.find(one.id);
      if (found != agents_->all.end()) found->second.judged = false;
    }
    throw;
  }
}

void Presence::report_silences() {
  const std::vector<QuietAgent> here = quiet_here();
  const auto silent = record_silences(here);
  for (const WorkspaceId& id : silent.value()) {
    const auto workspace = store_.find_workspace(id);
    if (!workspace) continue;
    {
      const MutexLock lock(agents_->mutex);
      const auto found = agents_->all.find(id);
      // It polled in this moment: the next flush removes the record.
      if (found != agents_->all.end() && found->second.open > 0) continue;
      if (found != agents_->all.end()) found->second.silent = true;
    }
    publish_status(id, "WORKSPACE_SILENT", poll_status(*workspace));
  }
  metrics_.silent_workspaces.Set(static_cast<double>(store_.count_silent_agents()));
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
