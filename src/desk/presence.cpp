#include "desk/presence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr int kUsualGaps = 5;
// Of a new gap in the usual one: some ten polls make a habit, one does not.
constexpr int kWeight = 8;

microseconds patience_with(const std::optional<microseconds>& usual, microseconds shortest) {
  return std::max(shortest, usual.value_or(microseconds(0)) * kUsualGaps);
}

// A night with the lid closed counts as no more than what just makes a silence: it is no habit.
microseconds learn(const std::optional<microseconds>& usual, microseconds gap, microseconds shortest) {
  const microseconds counted = std::min(gap, patience_with(usual, shortest));
  return usual ? *usual + (counted - *usual) / kWeight : counted;
}

enum class Silence { none, told, not_ours };

struct Agent {
  bool up = false;           // it was told that it is there
  int open = 0;              // polls
  bool polled_here = false;  // since this server started
  SteadyTime quiet_since;    // the end of the last poll, or the start of this server
  std::optional<Time> last_poll_at;
  std::optional<microseconds> usual_gap;
  Silence silence = Silence::none;
  std::optional<PollNote> unwritten;

  std::optional<microseconds> silent_for(const Clock& clock, microseconds shortest) const {
    if (open > 0 || !last_poll_at) return std::nullopt;
    const auto quiet = std::chrono::duration_cast<microseconds>(clock.steady() - quiet_since);
    if (quiet <= patience_with(usual_gap, shortest)) return std::nullopt;
    return polled_here ? quiet : std::max(quiet, clock.now() - *last_poll_at);
  }
  PollNote& note(WorkspaceId id, Time now) {
    last_poll_at = now;
    if (!unwritten) unwritten = PollNote{id, now};
    unwritten->at = now;
    unwritten->usual_gap = usual_gap;
    return *unwritten;
  }
};

std::string event_data(WorkspaceId id, const Hearing& hearing) {
  JsonWriter out;
  out.begin_object();
  out.member("workspace_id", id.text());
  if (hearing.last_poll_at) out.member("last_poll_at", format_time(*hearing.last_poll_at));
  if (hearing.silent_for) out.member("silent_for_seconds", hearing.silent_for->count());
  out.end_object();
  return out.take();
}

std::string spell(seconds span) {
  const auto count = span.count();
  if (count < 120) return fmt::format("{} s", count);
  if (count < 2 * 3600) return fmt::format("{} min", count / 60);
  if (count < 48 * 3600) return fmt::format("{} h", count / 3600);
  return fmt::format("{} days", count / 86'400);
}

}  // namespace

struct Presence::Agents {
  std::mutex mutex;  // polls come on all pool threads and end on any
  bool loaded = false;
  std::unordered_map<WorkspaceId, Agent> all;
};

class Presence::Poll {
 public:
  Poll(std::shared_ptr<Agents> agents, const Clock& clock, WorkspaceId id)
      : agents_(std::move(agents)), clock_(clock), id_(id) {}
  ~Poll() {
    const std::lock_guard lock(agents_->mutex);
    const auto found = agents_->all.find(id_);
    if (found == agents_->all.end() || found->second.open == 0) return;
    Agent& agent = found->second;
    if (--agent.open == 0) agent.quiet_since = clock_.steady();
    agent.note(id_, clock_.now());
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

 private:
  std::shared_ptr<Agents> agents_;
  const Clock& clock_;
  const WorkspaceId id_;
};

Presence::Presence(Store& store, News& news, const Clock& clock, Log& log, Metrics& metrics, seconds shortest_silence)
    : store_(store),
      news_(news),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      shortest_silence_(shortest_silence),
      agents_(std::make_shared<Agents>()) {}

void Presence::prepare() {
  const std::lock_guard lock(agents_->mutex);
  load();
}

void Presence::load() {
  if (agents_->loaded) return;
  for (const Workspace& workspace : store_.list_workspaces()) {
    Agent& agent = agents_->all[workspace.id];
    agent.up = workspace.status == WorkspaceStatus::online || workspace.status == WorkspaceStatus::degraded;
    agent.quiet_since = clock_.steady();
    agent.last_poll_at = workspace.last_poll_at;
    agent.usual_gap = workspace.usual_poll_gap;
    // Whoever was offline before had fallen silent before.
    const bool silent = !agent.up && workspace.last_poll_at && workspace.delivery_mode == DeliveryMode::poll;
    if (silent) agent.silence = Silence::told;
    if (silent) metrics_.silent_workspaces.Increment();
  }
  agents_->loaded = true;
}

std::shared_ptr<const void> Presence::poll(WorkspaceId id) {
  bool news = false;
  std::shared_ptr<const void> open;
  {
    const std::lock_guard lock(agents_->mutex);
    load();
    Agent& agent = agents_->all[id];
    open = std::make_shared<const Poll>(agents_, clock_, id);
    if (agent.open++ == 0 && agent.polled_here) {
      const auto gap = std::chrono::duration_cast<microseconds>(clock_.steady() - agent.quiet_since);
      agent.usual_gap = learn(agent.usual_gap, gap, shortest_silence_);
    }
    agent.polled_here = true;
    agent.note(id, clock_.now());
    news = !agent.up || agent.silence == Silence::told;
    agent.up = true;
    if (agent.silence == Silence::told) metrics_.silent_workspaces.Decrement();
    agent.silence = Silence::none;
  }
  if (news) tell(id, "WORKSPACE_ONLINE", {});
  return open;
}

void Presence::acked(WorkspaceId id, const ActivityQuery& cursor) {
  const std::lock_guard lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  PollNote& note = found->second.note(id, clock_.now());
  note.acked_seq = std::max(note.acked_seq, cursor.since_seq.value_or(0));
  if (cursor.since_id) note.acked_id = cursor.since_id;
}

std::int64_t Presence::acked_seq(WorkspaceId id) const {
  const std::lock_guard lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  return found != agents_->all.end() && found->second.unwritten ? found->second.unwritten->acked_seq : 0;
}

void Presence::seen(WorkspaceId id) {
  {
    const std::lock_guard lock(agents_->mutex);
    if (!agents_->loaded) return;
    Agent& agent = agents_->all[id];
    if (agent.up) return;
    agent.up = true;
  }
  tell(id, "WORKSPACE_ONLINE", {});
}

void Presence::lost(WorkspaceId id) {
  {
    const std::lock_guard lock(agents_->mutex);
    agents_->all[id].up = false;
  }
  tell(id, "WORKSPACE_OFFLINE", {});
}

void Presence::forget(WorkspaceId id) {
  const std::lock_guard lock(agents_->mutex);
  const auto found = agents_->all.find(id);
  if (found == agents_->all.end()) return;
  if (found->second.silence == Silence::told) metrics_.silent_workspaces.Decrement();
  agents_->all.erase(found);
}

Hearing Presence::hearing(const Workspace& workspace) {
  const std::lock_guard lock(agents_->mutex);
  load();
  Hearing hearing{workspace.last_poll_at, workspace.usual_poll_gap, {}, false};
  const auto found = agents_->all.find(workspace.id);
  if (found == agents_->all.end()) return hearing;
  const Agent& agent = found->second;
  hearing.last_poll_at = std::max(hearing.last_poll_at, agent.last_poll_at);
  if (agent.usual_gap) hearing.usual_gap = agent.usual_gap;
  hearing.listening = agent.open > 0;
  if (workspace.delivery_mode != DeliveryMode::poll) return hearing;
  const auto silent = agent.silent_for(clock_, shortest_silence_);
  if (silent) hearing.silent_for = std::chrono::duration_cast<seconds>(*silent);
  return hearing;
}

std::vector<WorkspaceId> Presence::flush() {
  std::vector<PollNote> notes;
  {
    const std::lock_guard lock(agents_->mutex);
    for (auto& [id, agent] : agents_->all) {
      if (agent.unwritten) notes.push_back(*std::exchange(agent.unwritten, std::nullopt));
    }
  }
  std::vector<WorkspaceId> acked;
  if (notes.empty()) return acked;
  try {
    (void)store_.note_polls(notes).take();
  } catch (...) {
    const std::lock_guard lock(agents_->mutex);
    for (const PollNote& note : notes) {
      const auto found = agents_->all.find(note.id);
      if (found == agents_->all.end()) continue;
      auto& newer = found->second.unwritten;
      if (!newer) newer = note;
      newer->acked_seq = std::max(newer->acked_seq, note.acked_seq);
      if (!newer->acked_id) newer->acked_id = note.acked_id;
    }
    throw;
  }
  for (const PollNote& note : notes) {
    if (note.acked_seq > 0 || note.acked_id) acked.push_back(note.id);
  }
  return acked;
}

void Presence::tell_silences() {
  std::vector<WorkspaceId> silent;
  {
    const std::lock_guard lock(agents_->mutex);
    load();
    for (const auto& [id, agent] : agents_->all) {
      if (agent.silence == Silence::none && agent.silent_for(clock_, shortest_silence_)) silent.push_back(id);
    }
  }
  for (const WorkspaceId& id : silent) {
    const auto workspace = store_.find_workspace(id);
    const bool ours = workspace && workspace->delivery_mode == DeliveryMode::poll;
    Hearing now;
    if (workspace) now = hearing(*workspace);
    {
      const std::lock_guard lock(agents_->mutex);
      const auto found = agents_->all.find(id);
      if (found == agents_->all.end() || (ours && !now.silent_for) || found->second.open > 0) continue;
      found->second.silence = ours ? Silence::told : Silence::not_ours;
      if (ours) metrics_.silent_workspaces.Increment();
    }
    if (ours) tell(id, "WORKSPACE_SILENT", now);
  }
}

void Presence::tell(WorkspaceId id, std::string_view event, const Hearing& hearing) {
  const std::string_view line = event == "WORKSPACE_SILENT"   ? "workspace_silent"
                                : event == "WORKSPACE_ONLINE" ? "workspace_online"
                                                              : "workspace_offline";
  log_.info(line, {{"workspace_id", id.text()}});
  news_.happened(id, event, event_data(id, hearing));
}

std::string spell_silence(const Workspace& workspace, const Hearing& hearing) {
  if (hearing.silent_for) return "silent for " + spell(*hearing.silent_for);
  const bool waited_for = workspace.delivery_mode == DeliveryMode::poll && !hearing.last_poll_at && !hearing.listening;
  return waited_for ? "never polled" : std::string();
}

}  // namespace restante::desk
