#include "api/handlers.h"

#include "api/answers.h"
#include "api/download.h"
#include "api/idempotency.h"
#include "api/push.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// Seconds with three decimals: polls can be milliseconds apart.
void write_gap(JsonWriter& out, const std::optional<std::chrono::microseconds>& gap) {
  out.key("usual_poll_gap_seconds");
  if (!gap) return out.null();
  const auto thousandths = std::chrono::duration_cast<std::chrono::milliseconds>(*gap).count();
  out.real(static_cast<double>(thousandths) / 1000);
}

void write_poll_status(JsonWriter& out, const Workspace& workspace, const desk::PollStatus& poll_status) {
  out.member_or_null("last_poll_at", poll_status.last_poll_at);
  write_gap(out, poll_status.usual_gap);
  out.member("listening", poll_status.listening);
  out.key("silent_for_seconds");
  poll_status.silent_for ? out.integer(poll_status.silent_for->count()) : out.null();
  out.member_or_null("silence", desk::describe_silence(workspace, poll_status));
}

void write_members(JsonWriter& out, const Workspace& workspace, const desk::PollStatus& poll_status) {
  out.member("id", workspace.id.text());
  out.member("name", workspace.name);
  out.member_or_null("role", workspace.role);
  out.member_or_null("parent_id", workspace.parent_id ? workspace.parent_id->text() : std::string());
  out.member("delivery_mode", name_of(workspace.delivery_mode));
  out.member_or_null("url", workspace.url);
  out.raw_member("agent_card", workspace.agent_card.empty() ? "null" : workspace.agent_card);
  out.member("status", name_of(workspace.status));
  out.member_or_null("last_heartbeat_at", workspace.last_heartbeat_at);
  write_poll_status(out, workspace, poll_status);
  out.member("current_task", workspace.current_task);
  out.member("active_tasks", workspace.active_tasks);
  out.member("uptime_seconds", workspace.uptime_seconds);
  out.member("last_error_rate", workspace.last_error_rate);
  out.member("created_at", workspace.created_at);
  out.member("updated_at", workspace.updated_at);
}

// An agent with a callback gets its messages at once: none wait for it.
void write_waiting(JsonWriter& out, const Context& context, const Workspace& workspace) {
  const bool fetches = workspace.delivery_mode == DeliveryMode::poll;
  out.member("waiting_messages", fetches ? context.inbox.waiting_messages(workspace.id) : 0);
}

// A person sees which agent to talk to, but not its url, its parent or its current task.
Workspace as_seen_by(const Principal& who, Workspace workspace) {
  if (!who.sees_chat_only()) return workspace;
  workspace.parent_id.reset();
  workspace.url.clear();
  workspace.agent_card.clear();
  workspace.current_task.clear();
  return workspace;
}

enum class Secret { shown_now, shown_before };

// The line to paste; a repeated request only gets the information that it was given out, never the line.
std::string created_body(const Workspace& workspace, const desk::Enrolment& enrolment, const std::string& url,
                         const std::vector<Program>& programs, Secret secret) {
  return json_object([&](JsonWriter& out) {
    write_members(out, workspace, {});
    out.object("connection", [&] {
      out.member("workspace_id", workspace.id.text());
      out.member("platform_url", url);
      if (secret == Secret::shown_now) {
        out.member("enrolment_token", enrolment.token);
        write_commands(out, programs, url, enrolment.token);
      } else {
        out.member("auth_token_shown", true);
      }
      out.member("expires_at", enrolment.expires_at);
    });
  });
}

Result<NewWorkspace> parse_new_workspace(const Json& body) {
  Fields fields(body);
  NewWorkspace workspace;
  workspace.name = fields.name().value_or("");
  fields.required_text("name");
  workspace.role = fields.text("role").value_or("");
  workspace.parent_id = fields.workspace("parent_id");
  workspace.url = fields.callback().value_or("");
  workspace.delivery_mode = fields.mode().value_or(workspace.url.empty() ? DeliveryMode::poll : DeliveryMode::push);
  return fields.result(std::move(workspace));
}

Result<WorkspacePatch> parse_patch(const Json& body) {
  Fields fields(body);
  WorkspacePatch patch;
  patch.name = fields.name();
  patch.role = fields.text("role");
  patch.url = fields.callback();
  patch.agent_card = fields.object("agent_card");
  if (body.find("parent_id")) patch.parent_id = fields.workspace("parent_id");
  patch.delivery_mode = fields.mode();
  return fields.result(std::move(patch));
}

// Checks url and mode as they will be together, whichever of them is changed.
Result<void> check_delivery(const Context& context, WorkspaceId id, const WorkspacePatch& patch) {
  const auto workspace = context.workspaces.find(id);
  if (!workspace) return workspace.error();
  const DeliveryMode mode = patch.delivery_mode.value_or(workspace->delivery_mode);
  const std::string& url = patch.url ? *patch.url : workspace->url;
  if (mode == DeliveryMode::push && url.empty()) {
    return bad_field("url", "delivery_mode push needs a url");
  }
  return check_callback(context, mode, url);
}

}  // namespace

http::Response create_workspace(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  IdempotentRequest idempotent(context, "/workspaces");
  if (auto answered = idempotent.begin(request, *body)) return std::move(*answered);
  auto wanted = parse_new_workspace(*body);
  if (!wanted) return answer(wanted.error());
  if (const auto fine = check_callback(context, wanted->delivery_mode, wanted->url); !fine) return answer(fine.error());
  const desk::Enrolment enrolment = context.workspaces.enrol(*wanted);
  const auto shown = [enrolment, url = platform_url(context, request), &programs = context.programs](Secret secret) {
    return [enrolment, url, &programs, secret](const Workspace& workspace) {
      return http::json(201, created_body(workspace, enrolment, url, programs, secret));
    };
  };
  return idempotent.perform<Workspace>(
      [&](OptionalClaim<Workspace> claim) { return context.workspaces.create(*wanted, std::move(claim)); },
      [with = shown(Secret::shown_now)](const Result<Workspace>& created) {
        return created ? with(*created) : answer(created.error());
      },
      shown(Secret::shown_before));
}

http::Response list_workspaces(const Context& context, http::Request& request) {
  const bool waiting = request.query_param("include").value_or("") == "waiting";
  const auto page = workspace_page(request);
  if (!page) return answer(page.error());
  const auto listed = context.workspaces.list(*page);
  http::Response response = list_answer(listed, [&](JsonWriter& out, const Workspace& workspace) {
    write_members(out, workspace, context.workspaces.poll_status(workspace));
    if (waiting) write_waiting(out, context, workspace);
  });
  add_next_page(response, *page, listed);
  return response;
}

http::Response read_workspace(const Context& context, http::Request& request) {
  const auto workspace = context.workspaces.find(workspace_in(request));
  if (!workspace) return answer(workspace.error());
  return object_answer(200, [&](JsonWriter& out) {
    write_members(out, as_seen_by(caller(request), *workspace), context.workspaces.poll_status(*workspace));
  });
}

http::Response read_workspace_state(const Context& context, http::Request& request) {
  const auto workspace = context.workspaces.find(workspace_in(request));
  // Clients take 404 for "deleted".
  if (!workspace) return answer(errors::workspace_not_found);
  return object_answer(200, [&](JsonWriter& out) {
    out.member("workspace_id", workspace->id.text());
    out.member("status", name_of(workspace->status));
    out.member("paused", false);
    out.member("deleted", false);
  });
}

http::Response patch_workspace(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  const auto patch = parse_patch(*body);
  if (!patch) return answer(patch.error());
  const bool operators = patch->parent_id || patch->delivery_mode || patch->url;
  if (operators && !caller(request).is_admin()) {
    return answer(
        Error(errors::not_allowed).with_sentence("parent_id, delivery_mode and url are changed by the admin only"));
  }
  if (patch->url || patch->delivery_mode) {
    if (const auto fine = check_delivery(context, id, *patch); !fine) return answer(fine.error());
  }
  return fixed_answer(R"({"status":"updated"})")(context.workspaces.patch(id, *patch));
}

http::Response remove_workspace(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto tokens = context.workspaces.remove(id);
  if (!tokens) return answer(tokens.error());
  context.tokens.end_held_requests(*tokens);
  context.push.callbacks.forget(id);
  return http::json(200, R"({"status":"removed"})");
}

}  // namespace restante::api
