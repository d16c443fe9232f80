// The rules of workspaces and tokens that every backend follows alike: how rows are made, and what a sign of life does.
// Pure.
#pragma once
#include <optional>

#include "model/token.h"
#include "model/workspace.h"

namespace restante {

// One agent has one or two; fifty is somebody's loop that registers again and again.
constexpr std::int64_t kMostTokens = 50;
constexpr std::size_t kMostAncestors = 32;

Workspace made_of(const NewWorkspace& workspace, Time now);
Token made_of(const NewToken& token, Time now);

// A sign of life brings it online, but does not say that its errors are over.
WorkspaceStatus seen(WorkspaceStatus status);
WorkspaceStatus after_beat(WorkspaceStatus status, std::optional<double> error_rate);
// What the agent says of itself is written over what was known.
void take_over(Workspace& workspace, const CheckedRegistration& entry, Time now);
void apply(Workspace& workspace, const WorkspacePatch& patch, Time now);

// One bound to a workspace makes tokens for that workspace alone.
bool may_redeem(const std::optional<Token>& enrolment, const NewToken& token, Time now);

}  // namespace restante
