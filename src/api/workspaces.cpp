#include "api/workspaces.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "model/errors.h"

namespace restante::api {
namespace {

void write_members(JsonWriter& out, const Workspace& workspace) {
  out.member("id", workspace.id.text());
  out.member("name", workspace.name);
  write_text(out, "role", workspace.role);
  write_text(out, "parent_id", workspace.parent_id ? workspace.parent_id->text() : std::string());
  out.member("delivery_mode", name_of(workspace.delivery_mode));
  write_text(out, "url", workspace.url);
  out.key("agent_card");
  out.raw(workspace.agent_card.empty() ? "null" : workspace.agent_card);
  out.member("status", name_of(workspace.status));
  write_time(out, "last_heartbeat_at", workspace.last_heartbeat_at);
  write_time(out, "last_poll_at", workspace.last_poll_at);
  write_text(out, "current_task", workspace.current_task);
  out.member("active_tasks", workspace.active_tasks);
  out.member("uptime_seconds", workspace.uptime_seconds);
  out.key("last_error_rate");
  out.real(workspace.last_error_rate);
  out.member("created_at", format_time(workspace.created_at));
  out.member("updated_at", format_time(workspace.updated_at));
}

// public_url, or where the client found us: on a fresh machine the line to paste works as it stands.
std::string platform_url(const Context& context, const http::Request& request) {
  if (!context.public_url.empty()) return context.public_url;
  return fmt::format("{}://{}", request.secure ? "https" : "http", request.host);
}

Result<std::optional<DeliveryMode>> mode_field(const Json& body) {
  const auto text = text_field(body, "delivery_mode");
  if (!text) return text.error();
  if (!*text || (*text)->empty()) return std::optional<DeliveryMode>();
  const auto mode = parse_delivery_mode(**text);
  if (!mode)
    return Error(errors::bad_field, {{"field", std::string("delivery_mode")}})
        .say("delivery_mode must be push or poll");
  return mode;
}

Result<std::optional<WorkspaceId>> workspace_field(const Json& body, std::string_view name) {
  const auto text = text_field(body, name);
  if (!text) return text.error();
  if (!*text || (*text)->empty()) return std::optional<WorkspaceId>();
  const auto id = WorkspaceId::parse(**text);
  if (!id) return bad_id(name);
  return id;
}

Result<NewWorkspace> parse_new_workspace(const Json& body) {
  NewWorkspace workspace;
  const auto name = required_text(body, "name");
  if (!name) return name.error();
  workspace.name = *name;
  const auto role = text_field(body, "role");
  if (!role) return role.error();
  workspace.role = role->value_or("");
  const auto parent = workspace_field(body, "parent_id");
  if (!parent) return parent.error();
  workspace.parent_id = *parent;
  const auto url = text_field(body, "url");
  if (!url) return url.error();
  workspace.url = url->value_or("");
  const auto mode = mode_field(body);
  if (!mode) return mode.error();
  workspace.delivery_mode = mode->value_or(workspace.url.empty() ? DeliveryMode::poll : DeliveryMode::push);
  return workspace;
}

Result<desk::Registration> parse_registration(const Json& body) {
  desk::Registration registration;
  const auto id = workspace_field(body, "id");
  if (!id) return id.error();
  registration.id = *id;
  if (const Json* card = body.find("agent_card"); card && !card->is_null()) {
    if (!card->if_object())
      return Error(errors::bad_field, {{"field", std::string("agent_card")}}).say("agent_card must be an object");
    registration.agent_card = card->dump();
  }
  const auto url = text_field(body, "url");
  if (!url) return url.error();
  registration.url = url->value_or("");
  const auto mode = mode_field(body);
  if (!mode) return mode.error();
  registration.delivery_mode = *mode;
  return registration;
}

Result<Heartbeat> parse_heartbeat(const Json& body) {
  Heartbeat beat;
  const auto active = whole_field(body, "active_tasks");
  if (!active) return active.error();
  beat.active_tasks = active->value_or(0);
  const auto uptime = whole_field(body, "uptime_seconds");
  if (!uptime) return uptime.error();
  beat.uptime_seconds = uptime->value_or(0);
  const auto task = text_field(body, "current_task");
  if (!task) return task.error();
  beat.current_task = task->value_or("");
  if (const Json* rate = body.find("error_rate"); rate && !rate->is_null()) {
    beat.error_rate = rate->real();
    if (!beat.error_rate)
      return Error(errors::bad_field, {{"field", std::string("error_rate")}}).say("error_rate must be a number");
  }
  return beat;
}

}  // namespace

http::Response create_workspace(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto wanted = parse_new_workspace(*body);
  if (!wanted) return answer(wanted.error());
  const auto created = context.workspaces.create(*wanted);
  if (!created) return answer(created.error());
  const std::string url = platform_url(context, request);
  JsonWriter out;
  out.begin_object();
  write_members(out, created->workspace);
  out.key("connection");
  out.begin_object();
  out.member("workspace_id", created->workspace.id.text());
  out.member("platform_url", url);
  out.member("enrolment_token", created->enrolment_token);
  out.member("connect_command", fmt::format("restante connect --url {} --enrol {}", url, created->enrolment_token));
  out.member("expires_at", format_time(created->enrolment_expires_at));
  out.end_object();
  out.end_object();
  return http::json(201, out.take());
}

http::Response list_workspaces(const Context& context, http::Request&) {
  JsonWriter out;
  out.begin_array();
  for (const Workspace& workspace : context.workspaces.list()) {
    out.begin_object();
    write_members(out, workspace);
    out.end_object();
  }
  out.end_array();
  return http::json(200, out.take());
}

http::Response read_workspace(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto workspace = context.workspaces.find(*id);
  if (!workspace) return answer(workspace.error());
  JsonWriter out;
  out.begin_object();
  write_members(out, *workspace);
  out.end_object();
  return http::json(200, out.take());
}

http::Response add_workspace_token(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto secret = context.workspaces.add_token(*id, "admin");
  if (!secret) return answer(secret.error());
  JsonWriter out;
  out.begin_object();
  out.member("auth_token", *secret);
  out.member("workspace_id", id->text());
  out.end_object();
  return http::json(201, out.take());
}

http::Response register_agent(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto registration = parse_registration(*body);
  if (!registration) return answer(registration.error());
  const auto registered = context.workspaces.enter(caller(request), *registration);
  if (!registered) return answer(registered.error());
  JsonWriter out;
  out.begin_object();
  out.member("status", "registered");
  out.member("delivery_mode", name_of(registered->workspace.delivery_mode));
  out.member("workspace_id", registered->workspace.id.text());
  out.member("name", registered->workspace.name);
  if (!registered->auth_token.empty()) out.member("auth_token", registered->auth_token);
  out.end_object();
  return http::json(200, out.take());
}

http::Response heartbeat(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto id = workspace_field(*body, "workspace_id");
  if (!id) return answer(id.error());
  const auto workspace = *id ? *id : caller(request).workspace_id;
  if (!workspace)
    return answer(Error(errors::bad_field, {{"field", std::string("workspace_id")}}).say("workspace_id is missing"));
  if (!caller(request).is_admin() && !caller(request).is_agent_of(*workspace)) return answer(errors::invalid_token);
  const auto beat = parse_heartbeat(*body);
  if (!beat) return answer(beat.error());
  return http::after(context.workspaces.beat(*workspace, *beat), [](Result<void> done) {
    return done ? http::json(200, R"({"status":"ok"})") : answer(done.error());
  });
}

}  // namespace restante::api
