#include "api/workspaces.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/push.h"
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

Result<WorkspacePatch> parse_patch(const Json& body) {
  WorkspacePatch patch;
  const std::pair<std::string_view, std::optional<std::string>*> texts[] = {
      {"name", &patch.name}, {"role", &patch.role}, {"url", &patch.url}};
  for (const auto& [name, field] : texts) {
    const auto text = text_field(body, name);
    if (!text) return text.error();
    *field = *text;
  }
  if (patch.name && patch.name->empty()) return required_text(body, "name").error();
  if (const Json* card = body.find("agent_card"); card && !card->is_null()) {
    if (!card->if_object())
      return Error(errors::bad_field, {{"field", std::string("agent_card")}}).say("agent_card must be an object");
    patch.agent_card = card->dump();
  }
  if (body.find("parent_id")) {
    const auto parent = workspace_field(body, "parent_id");
    if (!parent) return parent.error();
    patch.parent_id = *parent;
  }
  const auto mode = mode_field(body);
  if (!mode) return mode.error();
  patch.delivery_mode = *mode;
  return patch;
}

}  // namespace

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

http::Response create_workspace(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto wanted = parse_new_workspace(*body);
  if (!wanted) return answer(wanted.error());
  if (const auto fine = check_callback(context, wanted->delivery_mode, wanted->url); !fine) return answer(fine.error());
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

http::Response patch_workspace(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto patch = parse_patch(*body);
  if (!patch) return answer(patch.error());
  const bool operators = patch->parent_id || patch->delivery_mode || patch->url;
  if (operators && !caller(request).is_admin()) {
    return answer(Error(errors::not_allowed).say("parent_id, delivery_mode and url are changed by the admin only"));
  }
  if (patch->url) {
    if (const auto fine = check_callback(context, patch->delivery_mode, *patch->url); !fine)
      return answer(fine.error());
  }
  const auto patched = context.workspaces.patch(*id, *patch);
  return patched ? http::json(200, R"({"status":"updated"})") : answer(patched.error());
}

http::Response remove_workspace(const Context& context, http::Request& request) {
  const auto id = id_param<WorkspaceId>(request, "id");
  if (!id) return answer(id.error());
  const auto tokens = context.workspaces.remove(*id);
  if (!tokens) return answer(tokens.error());
  context.tokens.end_what_they_hold(*tokens);
  return http::json(200, R"({"status":"removed"})");
}

}  // namespace restante::api
