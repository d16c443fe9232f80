#include "api/routes.h"

#include "api/answers.h"
#include "api/guards.h"
#include "api/handlers.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using http::Body;
using http::Method;
using http::Run;

struct Row {
  Method method;
  const char* path;
  Guard guard;
  Body body;
  Run run;
  Handler* handler;
};

// `agent` for routes that only the agent uses, `member` for those that its people use as well.
constexpr Row kRows[] = {
    {Method::get, "/health", anyone, Body::none, Run::at_once, health},
    {Method::get, "/healthz", anyone, Body::none, Run::at_once, health},
    {Method::get, "/ready", anyone, Body::none, Run::on_pool, ready},
    {Method::get, "/metrics", metrics, Body::none, Run::on_pool, metrics_text},
    {Method::get, "/uploads/limits", anyone, Body::none, Run::at_once, upload_limits},
    {Method::get, "/download/:file", anyone, Body::none, Run::on_pool, download},

    {Method::post, "/session", anyone, Body::required, Run::on_pool, sign_in},
    {Method::get, "/session", registrant, Body::none, Run::on_pool, who_am_i},
    {Method::delete_, "/session", token, Body::none, Run::on_pool, sign_out},

    {Method::post, "/workspaces", admin, Body::required, Run::on_pool, create_workspace},
    {Method::get, "/workspaces", admin, Body::none, Run::on_pool, list_workspaces},
    {Method::get, "/workspaces/:id", member, Body::none, Run::on_pool, read_workspace},
    {Method::get, "/workspaces/:id/state", agent_or_removed, Body::none, Run::on_pool, read_workspace_state},
    {Method::patch, "/workspaces/:id", agent, Body::required, Run::on_pool, patch_workspace},
    {Method::delete_, "/workspaces/:id", admin, Body::none, Run::on_pool, remove_workspace},
    {Method::get, "/workspaces/:id/tokens", agent, Body::none, Run::on_pool, list_tokens},
    {Method::post, "/workspaces/:id/tokens", agent, Body::optional, Run::on_pool, create_token},
    {Method::delete_, "/workspaces/:id/tokens/:tokenId", agent, Body::none, Run::on_pool, revoke_token},
    {Method::get, "/admin/invites", admin, Body::none, Run::on_pool, list_invites},
    {Method::delete_, "/admin/invites/:tokenId", admin, Body::none, Run::on_pool, revoke_invite},
    {Method::post, "/admin/invites", admin, Body::required, Run::on_pool, create_invite},
    {Method::get, "/admin/liveness", admin, Body::none, Run::on_pool, liveness},
    {Method::get, "/admin/health", admin, Body::none, Run::on_pool, operator_health},
    {Method::post, "/admin/clock/accept", admin, Body::optional, Run::on_pool, accept_clock},
    {Method::get, "/admin/series", admin, Body::none, Run::on_pool, read_series},
    {Method::post, "/admin/token/rotate", admin, Body::optional, Run::on_pool, rotate_admin_token},
    {Method::post, "/admin/workspaces/:id/tokens", admin, Body::optional, Run::on_pool, create_token},
    {Method::post, "/registry/register", registrant, Body::required, Run::on_pool, register_agent},
    {Method::post, "/workspaces/:id/inbound-secret", agent, Body::optional, Run::on_pool, rotate_inbound_secret},
    {Method::post, "/registry/heartbeat", token, Body::optional, Run::on_pool, heartbeat},
    {Method::post, "/registry/update-card", token, Body::required, Run::on_pool, update_card},

    {Method::get, "/registry/:id/peers", agent, Body::none, Run::on_pool, list_peers},
    {Method::get, "/registry/discover/:id", token, Body::none, Run::on_pool, discover},
    {Method::post, "/registry/check-access", token, Body::required, Run::on_pool, check_access},

    {Method::get, "/workspaces/:id/activity", member, Body::none, Run::on_pool, read_inbox},
    {Method::get, "/workspaces/:id/chat-history", member, Body::none, Run::on_pool, chat_history},
    {Method::get, "/workspaces/:id/events/stream", member, Body::none, Run::on_pool, workspace_events},
    {Method::get, "/events/stream", admin, Body::none, Run::on_pool, all_events},
    {Method::post, "/workspaces/:id/activity", agent, Body::required, Run::on_pool, append_own_row},
    {Method::post, "/workspaces/:id/activity/ack", agent, Body::required, Run::on_pool, ack_inbox},
    {Method::get, "/workspaces/:id/activity/ack", member, Body::none, Run::on_pool, ack_inbox},
    {Method::post, "/workspaces/:id/notify", agent, Body::required, Run::on_pool, notify},
    {Method::post, "/workspaces/:id/a2a", token, Body::required, Run::on_pool, send_message},

    {Method::get, "/workspaces/:id/pending-uploads", member, Body::none, Run::on_pool, list_pending},
    {Method::get, "/workspaces/:id/pending-uploads/:fid", member, Body::none, Run::on_pool, read_pending},
    {Method::get, "/workspaces/:id/pending-uploads/:fid/content", member, Body::none, Run::on_pool, pending_content},
    {Method::delete_, "/workspaces/:id/pending-uploads/:fid", member, Body::none, Run::on_pool, recall_pending},
    {Method::post, "/workspaces/:id/pending-uploads/:fid/ack", agent, Body::optional, Run::on_pool, ack_pending},
    {Method::post, "/workspaces/:id/pending-uploads/:fid/fail", agent, Body::optional, Run::on_pool, fail_pending},
    {Method::get, "/admin/uploads", admin, Body::none, Run::on_pool, list_all_uploads},
    {Method::get, "/admin/uploads/stats", admin, Body::none, Run::on_pool, upload_figures},
    {Method::post, "/admin/sweep", admin, Body::optional, Run::on_pool, sweep_now},
    {Method::get, "/admin/blobs", admin, Body::none, Run::on_pool, read_blobs},
    {Method::post, "/admin/blobs/migration", admin, Body::required, Run::on_pool, begin_blob_move},
    {Method::post, "/admin/blobs/migration/finish", admin, Body::optional, Run::on_pool, finish_blob_move},
    {Method::post, "/admin/blobs/check", admin, Body::optional, Run::on_pool, start_blob_check},
    {Method::get, "/admin/blobs/check", admin, Body::none, Run::on_pool, read_blob_check},

    {Method::post, "/workspaces/:id/delegate", agent, Body::required, Run::on_pool, delegate_task},
    {Method::get, "/workspaces/:id/delegations", agent, Body::none, Run::on_pool, list_delegations},
    {Method::post, "/workspaces/:id/delegations/record", agent, Body::required, Run::on_pool, record_delegation},
    {Method::get, "/workspaces/:id/delegations/:did", agent, Body::none, Run::on_pool, read_delegation},
    {Method::post, "/workspaces/:id/delegations/:did/update", agent, Body::required, Run::on_pool, update_delegation},
    {Method::post, "/workspaces/:id/delegations/:did/heartbeat", agent, Body::optional, Run::on_pool, beat_delegation},
    {Method::post, "/workspaces/:id/delegations/:did/cancel", agent, Body::optional, Run::on_pool, cancel_delegation},
    {Method::get, "/admin/delegations", admin, Body::none, Run::on_pool, list_all_delegations},
    {Method::get, "/admin/delegations/stats", admin, Body::none, Run::on_pool, delegation_figures},
    {Method::get, "/admin/delegations/:did", admin, Body::none, Run::on_pool, read_any_delegation},
};

struct StreamRow {
  Method method;
  const char* path;
  Guard guard;
  Receiver* receiver;
};

constexpr StreamRow kStreams[] = {
    {Method::post, "/workspaces/:id/chat/uploads", member, receive_uploads},
};

// An upload's body that ends too early is an incomplete form; both faults give the same answer.
constexpr http::Fault kCutUpload{400, errors::malformed_multipart.code, errors::malformed_multipart.sentence};

// The guard, and a query with readable parameters: with a broken escape the request is ambiguous.
std::optional<http::Response> admit(const Context& context, Guard guard, http::Request& request) {
  if (auto refused = guard(context, request)) return refused;
  if (request.has_sound_query()) return std::nullopt;
  return answer(Error(errors::bad_parameter)
                    .with_sentence("the query has a percent escape that is broken or does not decode to text"));
}

// Workspaces, files and tokens are named by UUIDs; the id of a delegation is any text.
std::optional<http::Response> refuse_bad_ids(const http::Request& request) {
  for (const auto& [name, value] : request.path_params) {
    const bool is_uuid = name == "id" || name == "fid" || name == "tokenId";
    if (is_uuid && !Uuid::parse(value)) return answer(bad_id(name));
  }
  return std::nullopt;
}

}  // namespace

void add_routes(http::Router& router, const Context& context) {
  for (const Row& row : kRows) {
    http::Route route{row.method, row.path, row.body, row.run, {}, {}, {}, 0, http::faults::body_cut};
    if (row.guard != anyone)
      route.admit = [&context, guard = row.guard](http::Request& r) { return admit(context, guard, r); };
    route.handle = [&context, handler = row.handler](http::Request& r) {
      auto refused = refuse_bad_ids(r);
      return refused ? std::move(*refused) : handler(context, r);
    };
    route.answers_a_state = row.handler == ready;
    if (row.handler == update_delegation) route.body_limit = 2 * kMaxResultBody;
    router.add(std::move(route));
  }
  for (const StreamRow& row : kStreams) {
    http::Route route{row.method, row.path, Body::stream, Run::on_pool, {}, {}, {}, 0, kCutUpload};
    route.admit = [&context, guard = row.guard](http::Request& r) { return admit(context, guard, r); };
    route.receive = [&context, receiver = row.receiver](http::Request& r) { return receiver(context, r); };
    router.add(std::move(route));
  }
  add_page(router, context);
}

}  // namespace restante::api
