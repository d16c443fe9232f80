// The rules of workspaces and tokens that all backends share: how rows are made, and what a sign of life changes. Pure
// functions.
#pragma once
#include <optional>

#include "model/token.h"
#include "model/workspace.h"

namespace restante {

// An agent has one or two tokens; fifty come from a program that registers in a loop.
constexpr std::int64_t kMostTokens = 50;
constexpr std::size_t kMostAncestors = 32;

Workspace made_of(const NewWorkspace& workspace, Time now);
Token made_of(const NewToken& token, Time now);

// The status after a sign of life: online, but a degraded workspace stays degraded.
WorkspaceStatus seen(WorkspaceStatus status);
// The status after a heartbeat with this error rate, whatever it was before. Nothing: as after any sign of life.
std::optional<WorkspaceStatus> rated_status(std::optional<double> error_rate);
// Writes the data of a registration into the workspace.
void take_over(Workspace& workspace, const CheckedRegistration& registration, Time now);
void apply(Workspace& workspace, const WorkspacePatch& patch, Time now);

// Whether the enrolment is live and may give this token. An enrolment of one workspace gives tokens for that one only.
bool may_redeem(const std::optional<Token>& enrolment, const NewToken& token, Time now);

}  // namespace restante
