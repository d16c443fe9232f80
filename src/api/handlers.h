// The handlers of the route table, by noun; each is in the file of its noun. A handler parses the request, calls one
// function of desk/ and renders the answer. The route's guard has stored the principal in the request before.
#pragma once
#include <cstdint>

#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

using Handler = http::Response(const Context&, http::Request&);
// Takes a body that is not read into memory.
using Receiver = http::BodyHandling(const Context&, http::Request&);

// /health (also /healthz), /ready and /metrics, for operators and their tools.
Handler health, ready, metrics_text;
// GET /download/:file: a program for agents, and its sha256 in the format of `sha256sum -c`. Public: a person who
// pastes the first line has no token yet, and the programs are not a secret.
Handler download;
// The page's session: a person signs in once with a token and gets a cookie that scripts cannot read.
Handler sign_in, who_am_i, sign_out;
// /workspaces: workspaces are created with a line to paste, read, changed and removed.
Handler create_workspace, list_workspaces, read_workspace, read_workspace_state, patch_workspace, remove_workspace;
// /workspaces/:id/tokens and /admin/invites: tokens are made, listed and revoked.
Handler list_tokens, create_token, revoke_token, list_invites, create_invite, revoke_invite;
// Replaces the operator's token while the server runs.
Handler rotate_admin_token;
// /registry: agents register, send heartbeats, and find the agents they may talk to.
Handler register_agent, heartbeat, update_card, list_peers, discover, check_access;
// A new secret for the calls to an agent's callback.
Handler rotate_inbound_secret;
// /workspaces/:id/activity: the agent's inbox, which is also the audit trail, with the long poll.
Handler read_inbox, append_own_row, ack_inbox;
// /workspaces/:id/chat-history: earlier chat messages, for people who come back.
Handler chat_history;
// Live events as Server-Sent Events: of one workspace, with replay from its inbox, and of all workspaces for the
// operator.
Handler workspace_events, all_events;
// /workspaces/:id/a2a and /notify: messages to an agent, and from it to its people.
Handler send_message, notify;
// /workspaces/:id/chat/uploads: files for the agent, or with direction=out from it.
Receiver receive_uploads;
Handler upload_limits;
// /workspaces/:id/pending-uploads: the hand-over of files to the agent, and their state.
Handler list_pending, read_pending, pending_content, ack_pending, fail_pending, recall_pending;
// /admin/uploads, /admin/uploads/stats and /admin/sweep: lists and figures of the stored files, and a sweep on command.
Handler list_all_uploads, upload_figures, sweep_now;
// /workspaces/:id/delegate and /delegations: tasks are given, read, reported on and cancelled; for the operator all
// tasks.
Handler delegate_task, record_delegation, list_delegations, read_delegation, update_delegation, beat_delegation,
    cancel_delegation, list_all_delegations, read_any_delegation, delegation_figures;
// A result may be as large as any JSON body; a little more is read, so that the answer can name the alternative.
inline constexpr std::uint64_t kMaxResultBody = 1 << 20;
// /admin/blobs: where files are stored, and blob moves from one place to another.
Handler read_blobs, begin_blob_move, finish_blob_move;
// /admin/blobs/check: a check of all stored files, started by the operator and done in the background.
Handler start_blob_check, read_blob_check;
// /admin/liveness: whether the server's background loops still run. /admin/health: that, and everything else an
// operator needs to know about a server: its stores, versions and effective settings, without secrets.
Handler liveness, operator_health;
// /admin/clock/accept: the operator says that a clock that is in doubt is right.
Handler accept_clock;
// /admin/series: this server's own figures of the last day, by column, for charts.
Handler read_series;

}  // namespace restante::api
