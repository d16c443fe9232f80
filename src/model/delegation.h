// A delegation: a task one agent gave another, and how far it has come. The table of what may follow what is here and
// nowhere else; docs/states.md draws it. Values only.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/upload.h"

namespace restante {

constexpr std::size_t kMaxDelegationId = 128;
constexpr std::size_t kPreviewBytes = 4096;  // of a task and of a result; the table's CHECK pins it
constexpr std::size_t kMaxProgressBytes = 1000;
constexpr std::size_t kMaxErrorBytes = 4096;
constexpr auto kKeyHeldAfterCompletion = std::chrono::hours(24);

enum class DelegationStatus { queued, dispatched, in_progress, completed, failed, stuck };
inline constexpr DelegationStatus kDelegationStatuses[] = {DelegationStatus::queued,      DelegationStatus::dispatched,
                                                           DelegationStatus::in_progress, DelegationStatus::completed,
                                                           DelegationStatus::failed,      DelegationStatus::stuck};

constexpr bool is_final(DelegationStatus status) { return status >= DelegationStatus::completed; }
// Whether a delegation may go from one to the other. Staying where one is, is no step.
bool may_become(DelegationStatus from, DelegationStatus to);
std::string_view name_of(DelegationStatus status);
std::optional<DelegationStatus> parse_delegation_status(std::string_view text);
// 1 to 128 of [A-Za-z0-9._:-].
bool is_delegation_id(std::string_view text);

// Who made something happen to it.
enum class DelegationActor { caller, callee, platform };
std::string_view name_of(DelegationActor actor);
std::optional<DelegationActor> parse_delegation_actor(std::string_view text);

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
  std::string idempotency_key;  // empty: none, or free again
  Time created_at;
  Time updated_at;                        // of the last change of its status
  bool recorded = false;                  // its caller sent the task itself, and reports on it
  std::optional<std::int64_t> inbox_seq;  // of the row that brought it to the callee's inbox
  std::string progress;                   // what the callee last said of it
  std::optional<Time> progress_at;
  std::optional<Time> finished_at;
  std::string retry_of;
  std::string parent_id;
  std::int64_t depth = 1;       // 1: nobody's part
  std::optional<Time> late_at;  // an answer came after the end

  bool in_flight() const { return !is_final(status); }
};

// A line of its history.
struct DelegationStep {
  Time at;
  DelegationStatus status = DelegationStatus::queued;
  DelegationActor by = DelegationActor::platform;
  bool late = false;  // an answer that changed nothing any more
  std::string note;
};

// All there is to know. Files are JSON lists of {uri, name, mimeType?, size?}, empty when there are none.
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

// How much may be under way at once; 0 is no limit.
struct DelegationLimits {
  std::int64_t depth = 16;
  std::int64_t per_caller = 1'000;  // fan-out
  std::int64_t per_pair = 100;
  std::int64_t per_callee = 1'000;
};

// A task that is about to be given.
struct NewDelegation {
  std::string id;
  WorkspaceId caller_id;
  WorkspaceId callee_id;
  std::string task;
  std::string files;  // as the callee will know them
  std::string idempotency_key;
  Time deadline;
  std::string retry_of;
  std::string parent_id;
  bool recorded = false;
  bool to_inbox = true;  // false: its callback is asked first
  std::string traceparent;
  std::vector<OutgoingFile> attachments;  // of the caller, to be staged for the callee
  StagingTerms terms;
  DelegationLimits limits;
};

// What somebody says of a delegation.
struct DelegationReport {
  DelegationStatus status = DelegationStatus::in_progress;
  DelegationActor by = DelegationActor::callee;
  std::string text;                       // the result; of a failure, why; of in_progress a note
  std::string files;                      // as the caller will know them
  std::vector<OutgoingFile> attachments;  // of the callee, to be staged for the caller
  StagingTerms terms;
};

struct DelegationFilter {
  enum class Direction { any, sent, received };
  std::optional<WorkspaceId> workspace;  // none: of all
  Direction direction = Direction::any;
  std::optional<WorkspaceId> peer{};  // with a workspace and a direction: the other one
  std::optional<DelegationStatus> status;
  bool in_flight = false;  // all that have not ended
  int limit = 100;
};

struct DelegationStats {
  std::int64_t counts[std::size(kDelegationStatuses)] = {};
  std::int64_t& of(DelegationStatus status) { return counts[static_cast<std::size_t>(status)]; }
  std::int64_t of(DelegationStatus status) const { return counts[static_cast<std::size_t>(status)]; }
};

// What the ledger knows of why one that has not ended waits.
struct DelegationWait {
  std::int64_t ahead = 0;    // of the same callee, older and under way
  std::string missing_file;  // that came with the task and is not with the callee yet; empty: none
};

// What is known about a delegation that has not ended, for saying why.
struct WaitFacts {
  const Delegation& delegation;
  bool callee_removed = false;
  bool callee_online = false;
  bool callee_polls = true;         // else it is called
  std::optional<Time> seen_at{};    // the callee's last sign of life
  std::optional<Time> polled_at{};  // its last poll, listening: there is one open
  bool listening = false;
  std::optional<std::chrono::seconds> silent_for{};  // longer than it usually takes between two polls
  std::int64_t ahead = 0;                            // of the same callee, older and under way
  std::string missing_file{};                        // that came with the task and is not with the callee yet
};
// In words; empty when it has ended.
std::string why_waiting(const WaitFacts& waiting, Time now);

}  // namespace restante
