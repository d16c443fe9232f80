// A workspace: one agent's account on the server. Values only.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/names.h"
#include "model/ids.h"
#include "model/token.h"

namespace restante {

enum class DeliveryMode { push, poll };
inline constexpr Names<DeliveryMode, DeliveryMode::poll> kDeliveryModes{"push", "poll"};
constexpr std::string_view name_of(DeliveryMode mode) { return kDeliveryModes.of(mode); }
constexpr std::optional<DeliveryMode> parse_delivery_mode(std::string_view text) { return kDeliveryModes.parse(text); }

enum class WorkspaceStatus { awaiting_agent, online, degraded, offline, removed };
inline constexpr Names<WorkspaceStatus, WorkspaceStatus::removed> kWorkspaceStatuses{"awaiting_agent", "online",
                                                                                     "degraded", "offline", "removed"};
constexpr std::string_view name_of(WorkspaceStatus status) { return kWorkspaceStatuses.of(status); }
constexpr std::optional<WorkspaceStatus> parse_workspace_status(std::string_view text) {
  return kWorkspaceStatuses.parse(text);
}

struct Workspace {
  WorkspaceId id;
  std::string name;
  std::string role;
  std::optional<WorkspaceId> parent_id;
  DeliveryMode delivery_mode = DeliveryMode::push;
  bool mode_is_set = true;  // false: the row has no mode, which means push
  std::string url;
  std::string agent_card;  // JSON text, empty when none was given
  WorkspaceStatus status = WorkspaceStatus::awaiting_agent;
  std::optional<Time> last_heartbeat_at;
  std::optional<Time> last_poll_at;
  std::optional<std::chrono::microseconds> usual_poll_gap;  // from the end of a poll to the next; none: not known yet
  std::string current_task;
  std::int64_t active_tasks = 0;
  std::int64_t uptime_seconds = 0;
  double last_error_rate = 0;
  Time created_at;
  Time updated_at;
};

struct NewWorkspace {
  std::optional<WorkspaceId> id;  // made when absent
  std::string name;
  std::string role;
  std::optional<WorkspaceId> parent_id;
  DeliveryMode delivery_mode = DeliveryMode::poll;
  std::string url;
  std::optional<NewToken> enrolment;  // the line to paste; made with the workspace and bound to it
};

// How an agent gets its messages: by its polls, or by calls of its url.
struct Delivery {
  DeliveryMode mode = DeliveryMode::poll;
  std::string url;
};

// A new inbound secret, encrypted by the caller. It is stored unless the workspace has a secret other than `replaces`,
// which is one that can no longer be decrypted; empty: the workspace had none.
struct NewInboundSecret {
  std::string sealed;
  std::string replaces;
};

// A registration of an agent after the checks: what the agent sent, and why it may register.
struct CheckedRegistration {
  WorkspaceId id;
  std::optional<std::string> create_as;       // the name, when the workspace does not exist yet
  std::optional<DeliveryMode> delivery_mode;  // absent: see delivery_after() in model/workspace_rules.h
  std::string url;
  std::string agent_card;            // empty: the stored card stays
  std::optional<TokenId> enrolment;  // used up by the registration
  std::optional<NewToken> token;  // the agent's new token: with an enrolment, or when the workspace has no live token
  bool first_only = false;        // registers without proof: only as long as the workspace has no live token
  std::optional<NewInboundSecret> inbound_secret;  // used if the workspace is push after the registration
};

struct RegisteredWorkspace {
  Workspace workspace;
  std::optional<Token> token;  // the new token, if one was made
  std::string inbound_secret;  // of a push workspace, encrypted, as it is stored now; empty: none
};

// Members that are absent stay unchanged.
struct WorkspacePatch {
  std::optional<std::string> name;
  std::optional<std::string> role;
  std::optional<std::string> url;
  std::optional<std::string> agent_card;                // JSON text
  std::optional<std::optional<WorkspaceId>> parent_id;  // inner nothing: no parent
  std::optional<DeliveryMode> delivery_mode;
};

// A part of a list of workspaces, oldest first. Absent: all of them.
struct WorkspacePage {
  std::optional<WorkspaceId> after{};  // the last one of the previous page; the list after an unknown one is empty
  std::optional<int> limit{};
};

// An agent in poll mode that has not polled for a while, and was not reported as silent.
struct QuietAgent {
  WorkspaceId id;
  Time last_poll_at;
  std::optional<std::chrono::microseconds> usual_gap{};
};

// A change of status because time has passed.
struct StatusChange {
  WorkspaceId id;
  WorkspaceStatus from = WorkspaceStatus::online;
  WorkspaceStatus to = WorkspaceStatus::offline;
};

// What a workspace's polls have shown since it was last written to the database.
struct PollRecord {
  WorkspaceId id;
  Time at;                                               // of the latest poll
  std::optional<std::chrono::microseconds> usual_gap{};  // absent: unchanged
  std::int64_t acked_seq = 0;                            // a poll with a cursor acks the rows before it: by number,
  std::optional<InboxRowId> acked_id{};                  // or by row
};

struct Heartbeat {
  std::int64_t active_tasks = 0;
  std::string current_task;
  std::optional<double> error_rate;
  std::int64_t uptime_seconds = 0;
};

}  // namespace restante
