#include "api/handlers.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/download.h"

namespace restante::api {
namespace {

void write_token(JsonWriter& out, const Token& token) {
  out.member("id", token.id.text());
  out.member("kind", name_of(token.kind));
  out.member("prefix", token.prefix);
  out.member("label", token.label);
  out.member("created_at", token.created_at);
  out.member_or_null("last_used_at", token.last_used_at);
  out.member_or_null("expires_at", token.expires_at);
  out.member_or_null("revoked_at", token.revoked_at);
}

// The agent of a workspace manages its own tokens; a person's token gives no access to them.
bool shown_to(const Principal& who, const Token& token) {
  return token.kind != TokenKind::session && (who.is_admin() || token.kind == TokenKind::workspace);
}

}  // namespace

http::Response list_tokens(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto known = context.workspaces.find(id);
  if (!known) return answer(known.error());
  auto tokens = context.tokens.list(id);
  std::erase_if(tokens, [&](const Token& token) { return !shown_to(caller(request), token); });
  return list_answer(tokens, write_token);
}

http::Response create_token(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const auto body = json_body(request, BodyMay::be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto label = fields.text("label");
  if (fields.error()) return answer(*fields.error());
  const auto issued = context.tokens.issue(TokenKind::workspace, id, label.value_or(""));
  if (!issued) return answer(issued.error());
  return object_answer(201, [&](JsonWriter& out) {
    out.member("auth_token", issued->secret);
    out.member("token_id", issued->token.id.text());
    out.member("workspace_id", id.text());
  });
}

http::Response revoke_token(const Context& context, http::Request& request) {
  return fixed_answer(R"({"status":"revoked"})")(context.tokens.revoke(workspace_in(request), token_in(request)));
}

http::Response list_invites(const Context& context, http::Request&) {
  return list_answer(context.tokens.invites(), write_token);
}

http::Response revoke_invite(const Context& context, http::Request& request) {
  return fixed_answer(R"({"status":"revoked"})")(context.tokens.revoke_invite(token_in(request)));
}

http::Response create_invite(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto kind = parse_token_kind(fields.required_text("kind"));
  if (kind != TokenKind::sender && kind != TokenKind::enrolment) {
    fields.fail(bad_field("kind", "kind must be sender or enrolment"));
  }
  const auto workspace = fields.workspace("workspace_id");
  if (kind == TokenKind::sender && !workspace) {
    fields.fail(bad_field("workspace_id", "a sender is invited to a workspace_id"));
  }
  const auto label = fields.text("label");
  if (fields.error()) return answer(*fields.error());
  const auto issued = context.tokens.issue(*kind, workspace, label.value_or(""));
  if (!issued) return answer(issued.error());
  const std::string url = platform_url(context, request);
  return object_answer(201, [&](JsonWriter& out) {
    out.member("token", issued->secret);
    out.member("token_id", issued->token.id.text());
    out.member("kind", name_of(*kind));
    out.member_or_null("workspace_id", workspace ? workspace->text() : std::string());
    out.member_or_null("expires_at", issued->token.expires_at);
    if (kind == TokenKind::sender) {
      out.member("link", fmt::format("{}/#token={}&workspace={}", url, issued->secret, workspace->text()));
    } else {
      write_commands(out, context.programs, url, issued->secret);
    }
  });
}

}  // namespace restante::api
