// A delegation: a task that one agent gave another, and its state. The table of allowed transitions is here and nowhere
// else; docs/states.md draws it. Values only.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "model/ids.h"
#include "model/upload.h"

namespace restante {

constexpr std::size_t kMaxDelegationId = 128;
constexpr std::size_t kPreviewBytes = 4096;  // of a task and of a result; the same limit as in the table's CHECK
constexpr std::size_t kMaxProgressBytes = 1000;
constexpr std::size_t kMaxErrorBytes = 4096;
constexpr auto kKeyHeldAfterCompletion = std::chrono::hours(24);

enum class DelegationStatus { queued, dispatched, in_progress, completed, failed, stuck };
inline constexpr DelegationStatus kDelegationStatuses[] = {DelegationStatus::queued,      DelegationStatus::dispatched,
                                                           DelegationStatus::in_progress, DelegationStatus::completed,
                                                           DelegationStatus::failed,      DelegationStatus::stuck};

constexpr bool is_final(DelegationStatus status) { return status >= DelegationStatus::completed; }
// Whether a delegation may go from one status to the other. To stay in a status is not a transition.
bool may_become(DelegationStatus from, DelegationStatus to);
inline constexpr Names<DelegationStatus, DelegationStatus::stuck> kDelegationStatusNames{
    "queued", "dispatched", "in_progress", "completed", "failed", "stuck"};
constexpr std::string_view name_of(DelegationStatus status) { return kDelegationStatusNames.of(status); }
constexpr std::optional<DelegationStatus> parse_delegation_status(std::string_view text) {
  return kDelegationStatusNames.parse(text);
}
// 1 to 128 of [A-Za-z0-9._:-].
bool is_delegation_id(std::string_view text);

// Who caused a transition.
enum class DelegationActor { caller, callee, platform };
inline constexpr Names<DelegationActor, DelegationActor::platform> kDelegationActors{"caller", "callee", "platform"};
constexpr std::string_view name_of(DelegationActor actor) { return kDelegationActors.of(actor); }
constexpr std::optional<DelegationActor> parse_delegation_actor(std::string_view text) {
  return kDelegationActors.parse(text);
}

struct Delegation {
  std::string id;
  WorkspaceId caller_id;
  WorkspaceId callee_id;
  std::string task_preview;
  DelegationStatus status = DelegationStatus::queued;
  std::optional<Time> last_heartbeat;  // the task's own: by a heartbeat or an update
  Time deadline;
  std::string result_preview;
  std::string error_detail;
  std::int64_t retry_count = 0;
  std::string idempotency_key;  // empty: none, or released for a new request
  Time created_at;
  Time updated_at;                        // of the last change of its status
  bool recorded = false;                  // its caller sent the task itself, and reports on it
  std::optional<std::int64_t> inbox_seq;  // of the task's row in the receiving agent's inbox
  std::string progress;                   // the last progress note of the receiving agent
  std::optional<Time> progress_at;
  std::optional<Time> finished_at;
  std::string retry_of;
  std::string parent_id;
  std::int64_t depth = 1;       // 1: not part of another task
  std::optional<Time> late_at;  // an answer came after the end

  bool in_flight() const { return !is_final(status); }
};

// One entry of its history.
struct DelegationStep {
  Time at;
  DelegationStatus status = DelegationStatus::queued;
  DelegationActor by = DelegationActor::platform;
  bool late = false;  // an answer that came too late to change anything
  std::string note;
};

// Everything about one delegation. Files are JSON lists of {uri, name, mimeType?, size?}, empty when there are none.
struct DelegationRecord {
  Delegation delegation;
  std::string task;
  std::string task_files;
  std::string result;
  std::string result_files;
  std::string late_answer;
  std::string late_files;
  std::vector<DelegationStep> history;
};

// No chain of tasks is deeper, whatever the limit is: its rows are read one by one when a task is added to it.
constexpr std::int64_t kMaxDelegationDepth = 1'000;

// How many delegations may be in progress at once; 0 is no limit.
struct DelegationLimits {
  std::int64_t depth = 16;          // 0: kMaxDelegationDepth
  std::int64_t per_caller = 1'000;  // fan-out
  std::int64_t per_pair = 100;
  std::int64_t per_callee = 1'000;
};

// A task that is to be given.
struct NewDelegation {
  std::string id;
  WorkspaceId caller_id;
  WorkspaceId callee_id;
  std::string task;
  std::string files;  // with the uris that the receiving agent will use
  std::string idempotency_key;
  Time deadline;
  std::string retry_of;
  std::string parent_id;
  bool recorded = false;
  bool to_inbox = true;  // false: the receiving agent's callback is called first
  std::string traceparent;
  std::vector<OutgoingFile> attachments;  // files of the caller, to be staged for the receiving agent
  StagingTerms terms;
  DelegationLimits limits;
};

// A report on a delegation, by one of its agents or by the server.
struct DelegationReport {
  DelegationStatus status = DelegationStatus::in_progress;
  DelegationActor by = DelegationActor::callee;
  std::string text;                       // the result; of a failure the reason; of in_progress a note
  std::string files;                      // with the uris that the caller will use
  std::vector<OutgoingFile> attachments;  // files of the receiving agent, to be staged for the caller
  StagingTerms terms;
};

struct DelegationFilter {
  enum class Direction { any, sent, received };
  std::optional<WorkspaceId> workspace;  // none: of all workspaces
  Direction direction = Direction::any;
  std::optional<WorkspaceId> peer{};  // only with a workspace and a direction: the workspace on the other side
  std::optional<DelegationStatus> status;
  bool in_flight = false;  // only those that have not ended
  int limit = 100;
};

struct DelegationStats {
  std::int64_t counts[std::size(kDelegationStatuses)] = {};
  std::int64_t& of(DelegationStatus status) { return counts[static_cast<std::size_t>(status)]; }
  std::int64_t of(DelegationStatus status) const { return counts[static_cast<std::size_t>(status)]; }
};

// What the delegations table knows about why a delegation that has not ended waits.
struct DelegationWait {
  std::int64_t ahead = 0;    // older ones in progress, for the same receiving agent
  std::string missing_file;  // came with the task, and the receiving agent has not taken it yet; empty: none
};

// The facts from which why_waiting() builds its sentence.
struct WaitFacts {
  const Delegation& delegation;
  bool callee_removed = false;
  bool callee_online = false;
  bool callee_polls = true;                          // false: it has a callback
  std::optional<Time> seen_at{};                     // the receiving agent's last sign of life
  std::optional<Time> polled_at{};                   // its last poll
  bool listening = false;                            // a poll is open now
  std::optional<std::chrono::seconds> silent_for{};  // longer than its usual time between two polls
  std::int64_t ahead = 0;                            // older ones in progress, for the same receiving agent
  std::string missing_file{};                        // came with the task, and the receiving agent has not taken it yet
};
// A sentence for people; empty when the delegation has ended.
std::string why_waiting(const WaitFacts& waiting, Time now);

}  // namespace restante
