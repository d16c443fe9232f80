#include "api/handlers.h"

#include "api/answers.h"
#include "api/push.h"
#include "api/workspaces.h"
#include "model/errors.h"

namespace restante::api {
namespace {

Result<desk::Registration> parse_registration(const Json& body) {
  desk::Registration registration;
  const auto id = workspace_field(body, "id");
  if (!id) return id.error();
  registration.id = *id;
  if (const Json* card = body.find("agent_card"); card && !card->is_null()) {
    if (!card->if_object())
      return Error(errors::bad_field, {{"field", std::string("agent_card")}})
          .with_sentence("agent_card must be an object");
    registration.agent_card = card->dump();
    if (const Json* name = card->find("name"); name && name->if_string()) registration.name = *name->if_string();
  }
  // For a workspace that this registration creates; an agent without a card still needs a name.
  const auto name = text_field(body, "name");
  if (!name) return name.error();
  if (registration.name.empty()) registration.name = name->value_or("");
  const auto url = text_field(body, "url");
  if (!url) return url.error();
  registration.url = url->value_or("");
  const auto mode = mode_field(body);
  if (!mode) return mode.error();
  registration.delivery_mode = *mode;
  return registration;
}

// Members that a heartbeat does not contain stay unchanged: an empty heartbeat must not hide the agent's current task.
Result<Heartbeat> parse_heartbeat(const Json& body, const Workspace& known) {
  Heartbeat beat;
  const auto active = whole_field(body, "active_tasks");
  if (!active) return active.error();
  beat.active_tasks = active->value_or(known.active_tasks);
  const auto uptime = whole_field(body, "uptime_seconds");
  if (!uptime) return uptime.error();
  beat.uptime_seconds = uptime->value_or(known.uptime_seconds);
  const auto task = text_field(body, "current_task");
  if (!task) return task.error();
  beat.current_task = task->value_or(known.current_task);
  if (const Json* rate = body.find("error_rate"); rate && !rate->is_null()) {
    beat.error_rate = rate->real();
    if (!beat.error_rate)
      return Error(errors::bad_field, {{"field", std::string("error_rate")}})
          .with_sentence("error_rate must be a number");
  }
  return beat;
}

void write_peer(JsonWriter& out, const Workspace& workspace) {
  out.begin_object();
  out.member("id", workspace.id.text());
  out.member("name", workspace.name);
  write_text(out, "role", workspace.role);
  out.member("status", name_of(workspace.status));
  out.member("delivery_mode", name_of(workspace.delivery_mode));
  out.key("agent_card");
  out.raw(workspace.agent_card.empty() ? "null" : workspace.agent_card);
  out.end_object();
}

}  // namespace

http::Response register_agent(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto registration = parse_registration(*body);
  if (!registration) return answer(registration.error());
  const auto fine = check_callback(context, registration->delivery_mode, registration->url);
  if (!fine) return answer(fine.error());
  const auto registered = context.workspaces.register_agent(caller(request), *registration);
  if (!registered) return answer(registered.error());
  const auto secret = inbound_secret(context, registered->workspace);
  if (!secret) return answer(secret.error());
  JsonWriter out;
  out.begin_object();
  out.member("status", "registered");
  out.member("delivery_mode", name_of(registered->workspace.delivery_mode));
  out.member("workspace_id", registered->workspace.id.text());
  out.member("name", registered->workspace.name);
  if (!registered->auth_token.empty()) out.member("auth_token", registered->auth_token);
  if (!secret->empty()) out.member("platform_inbound_secret", *secret);
  out.end_object();
  return http::json(200, out.take());
}

http::Response heartbeat(const Context& context, http::Request& request) {
  const auto body = heartbeat_body(request);
  if (!body) return answer(body.error());
  const auto id = workspace_field(*body, "workspace_id");
  if (!id) return answer(id.error());
  const auto workspace = *id ? *id : caller(request).workspace_id;
  if (!workspace)
    return answer(
        Error(errors::bad_field, {{"field", std::string("workspace_id")}}).with_sentence("workspace_id is missing"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*workspace)) return answer(errors::invalid_token);
  const auto known = context.workspaces.find(*workspace);
  if (!known) return answer(known.error());
  const auto beat = parse_heartbeat(*body, *known);
  if (!beat) return answer(beat.error());
  const auto secret = inbound_secret(context, *known);
  if (!secret) return answer(secret.error());
  return http::after(context.workspaces.beat(*workspace, *beat), [secret = *secret](Result<void> done) {
    if (!done) return answer(done.error());
    JsonWriter out;
    out.begin_object();
    out.member("status", "ok");
    if (!secret.empty()) out.member("platform_inbound_secret", secret);
    out.end_object();
    return http::json(200, out.take());
  });
}

http::Response list_peers(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto known = context.workspaces.find(*id);
  if (!known) return answer(known.error());
  JsonWriter out;
  out.begin_array();
  for (const Workspace& peer : context.access.peers(*id)) write_peer(out, peer);
  out.end_array();
  return http::json(200, out.take());
}

http::Response discover(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto from = WorkspaceId::parse(request.header("X-Workspace-ID"));
  if (!from)
    return answer(Error(errors::bad_parameter, {{"field", std::string("X-Workspace-ID")}})
                      .with_sentence("X-Workspace-ID must name the asking workspace"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*from)) return answer(errors::invalid_token);
  const auto allowed = context.access.check(*from, *id);
  if (!allowed) return answer(allowed.error());
  const auto workspace = context.workspaces.find(*id);
  if (!workspace) return answer(workspace.error());
  JsonWriter out;
  write_peer(out, *workspace);
  return http::json(200, out.take());
}

http::Response check_access(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto from = workspace_field(*body, "caller_id");
  if (!from) return answer(from.error());
  const auto to = workspace_field(*body, "target_id");
  if (!to) return answer(to.error());
  if (!*from || !*to)
    return answer(Error(errors::bad_field).with_sentence("caller_id and target_id must both be given"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(**from)) return answer(errors::invalid_token);
  return http::json(200, context.access.check(**from, **to) ? R"({"allowed":true})" : R"({"allowed":false})");
}

}  // namespace restante::api
