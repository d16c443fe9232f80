#include "api/handlers.h"

#include "api/answers.h"
#include "api/push.h"
#include "model/errors.h"
#include "model/workspace_rules.h"

namespace restante::api {
namespace {

Result<desk::Registration> parse_registration(const Json& body) {
  Fields fields(body);
  desk::Registration registration;
  registration.id = fields.workspace("id");
  registration.agent_card = fields.object("agent_card").value_or("");
  if (const Json* card = body.find("agent_card")) registration.name = tidy_name(card->text("name"));
  // For a workspace that this registration creates; an agent without a card still needs a name.
  const auto name = fields.text("name");
  if (registration.name.empty()) registration.name = tidy_name(name.value_or(""));
  registration.url = fields.callback().value_or("");
  registration.delivery_mode = fields.mode();
  return fields.result(std::move(registration));
}

// Members that a heartbeat does not contain stay unchanged: an empty heartbeat must not hide the agent's current task.
Result<Heartbeat> parse_heartbeat(const Json& body, const Workspace& known) {
  Fields fields(body);
  Heartbeat beat;
  beat.active_tasks = fields.whole("active_tasks").value_or(known.active_tasks);
  beat.uptime_seconds = fields.whole("uptime_seconds").value_or(known.uptime_seconds);
  beat.current_task = fields.text("current_task").value_or(known.current_task);
  beat.error_rate = fields.real("error_rate");
  return fields.result(std::move(beat));
}

void write_peer(JsonWriter& out, const Workspace& workspace) {
  out.member("id", workspace.id.text());
  out.member("name", workspace.name);
  out.member_or_null("role", workspace.role);
  out.member("status", name_of(workspace.status));
  out.member("delivery_mode", name_of(workspace.delivery_mode));
  out.raw_member("agent_card", workspace.agent_card.empty() ? "null" : workspace.agent_card);
}

}  // namespace

http::Response register_agent(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto registration = parse_registration(*body);
  if (!registration) return answer(registration.error());
  auto prepared = context.workspaces.prepare(caller(request), *registration);
  if (!prepared) return answer(prepared.error());
  const auto fine = check_callback(context, prepared->delivery.mode, registration->url);
  if (!fine) return answer(fine.error());
  const WorkspaceId id = prepared->checked.id;
  if (prepared->delivery.mode == DeliveryMode::push) {
    prepared->checked.inbound_secret = context.push.secrets.prepare(id);
  }
  const auto registered = context.workspaces.register_agent(std::move(*prepared));
  if (!registered) return answer(registered.error());
  const std::string secret = context.push.secrets.open(id, registered->inbound_secret);
  return object_answer(200, [&](JsonWriter& out) {
    out.member("status", "registered");
    out.member("delivery_mode", name_of(registered->workspace.delivery_mode));
    out.member("workspace_id", registered->workspace.id.text());
    out.member("name", registered->workspace.name);
    out.member_if("auth_token", registered->auth_token);
    out.member_if("platform_inbound_secret", secret);
  });
}

http::Response heartbeat(const Context& context, http::Request& request) {
  const auto body = heartbeat_body(request);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto id = fields.workspace("workspace_id");
  if (fields.error()) return answer(*fields.error());
  const auto workspace = id ? id : caller(request).workspace_id;
  if (!workspace) return answer(bad_field("workspace_id", "workspace_id is missing"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*workspace)) return answer(errors::invalid_token);
  const auto known = context.workspaces.find(*workspace);
  if (!known) return answer(known.error());
  const auto beat = parse_heartbeat(*body, *known);
  if (!beat) return answer(beat.error());
  const auto secret = inbound_secret(context, *known);
  if (!secret) return answer(secret.error());
  return http::after(context.workspaces.beat(*workspace, *beat), [secret = *secret](Result<void> done) {
    if (!done) return answer(done.error());
    return object_answer(200, [&](JsonWriter& out) {
      out.member("status", "ok");
      out.member_if("platform_inbound_secret", secret);
    });
  });
}

http::Response update_card(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto id = fields.workspace("workspace_id");
  WorkspacePatch patch;
  patch.agent_card = fields.object("agent_card");
  if (!patch.agent_card) fields.fail(bad_field("agent_card", "agent_card must be an object"));
  if (fields.error()) return answer(*fields.error());
  const auto workspace = id ? id : caller(request).workspace_id;
  if (!workspace) return answer(bad_field("workspace_id", "workspace_id is missing"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*workspace)) return answer(errors::invalid_token);
  return fixed_answer(R"({"status":"updated"})")(context.workspaces.patch(*workspace, patch));
}

http::Response list_peers(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto known = context.workspaces.find(id);
  if (!known) return answer(known.error());
  const auto page = workspace_page(request);
  if (!page) return answer(page.error());
  const auto peers = context.access.peers(id, *page);
  const std::string wanted = request.query_param("q").value_or("");
  auto found = peers;
  std::erase_if(found, [&](const Workspace& peer) { return !matches(peer, wanted); });
  http::Response response = list_answer(found, write_peer);
  // Of the page before the search: a page without a match is not the last one.
  add_next_page(response, *page, peers);
  return response;
}

http::Response discover(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const std::string_view named = request.header("X-Workspace-ID");
  if (named.empty()) return answer(bad_parameter("X-Workspace-ID", "X-Workspace-ID header is required"));
  const auto from = WorkspaceId::parse(named);
  if (!from) return answer(bad_parameter("X-Workspace-ID", "X-Workspace-ID must be a UUID"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*from)) return answer(errors::invalid_token);
  const auto allowed = context.access.check(*from, id);
  if (!allowed) return answer(allowed.error());
  const auto workspace = context.workspaces.find(id);
  if (!workspace) return answer(workspace.error());
  return object_answer(200, [&](JsonWriter& out) { write_peer(out, *workspace); });
}

http::Response check_access(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto from = fields.workspace("caller_id");
  const auto to = fields.workspace("target_id");
  if (!from || !to) fields.fail(Error(errors::bad_field).with_sentence("caller_id and target_id must both be given"));
  if (fields.error()) return answer(*fields.error());
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*from)) return answer(errors::invalid_token);
  return http::json(200, context.access.check(*from, *to) ? R"({"allowed":true})" : R"({"allowed":false})");
}

}  // namespace restante::api
