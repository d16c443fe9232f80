// The rules of workspaces and tokens that all backends share: how rows are made, and what a sign of life changes. Pure
// functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/token.h"
#include "model/workspace.h"

namespace restante {

// An agent has one or two tokens; fifty come from a program that registers in a loop.
constexpr std::int64_t kMostTokens = 50;
constexpr std::size_t kMostAncestors = 32;

constexpr std::size_t kMostNameCharacters = 100;

// The url of a callback as it is stored. remote://… is how clients spell that there is none: empty.
std::string callback_url(std::string url);
// A workspace's name without control characters, cut to kMostNameCharacters. Text in UTF-8; may become empty.
std::string tidy_name(std::string_view name);
// Whether the name or the role contains the text, in any ASCII letter case; an empty text matches all.
bool matches(const Workspace& workspace, std::string_view text);

Workspace made_of(const NewWorkspace& workspace, Time now);
Token made_of(const NewToken& token, Time now);

// The status after a sign of life: online, but a degraded workspace stays degraded.
WorkspaceStatus seen(WorkspaceStatus status);
// The status after a heartbeat with this error rate, whatever it was before. Nothing: as after any sign of life.
std::optional<WorkspaceStatus> rated_status(std::optional<double> error_rate);
// How the agent gets its messages after this registration. `known` is the workspace as it is, null when it does not
// exist. A registration without a mode changes neither the mode of a known workspace nor, when it has no url, the url;
// for a new workspace, or one whose mode was never set, a url means push. bad_field: push without a url.
Result<Delivery> delivery_after(const CheckedRegistration& registration, const Workspace* known);
// Writes the data of a registration into the workspace.
void take_over(Workspace& workspace, const CheckedRegistration& registration, Delivery delivery, Time now);
void apply(Workspace& workspace, const WorkspacePatch& patch, Time now);

// Whether the enrolment is live and may give this token. An enrolment of one workspace gives tokens for that one only.
bool may_redeem(const std::optional<Token>& enrolment, const NewToken& token, Time now);

}  // namespace restante
