#include <unistd.h>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/remote/remote.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

constexpr std::size_t kPrefixSize = 8;

// Without a workspace: the enrolment tokens that are bound to none.
std::string tokens_path(Remote& remote, const TokenOptions& options) {
  if (options.workspace.empty()) return "/admin/invites";
  return fmt::format("/workspaces/{}/tokens", remote.find_workspace(options.workspace).text());
}

Cell state_cell(const Json& token, Time now) {
  // Using an enrolment revokes it.
  const bool used = token.text("kind") == "enrolment" && !token.text("last_used_at").empty();
  if (!token.text("revoked_at").empty()) return {used ? "used" : "revoked", Paint::faint};
  const auto expires = parse_time(token.text("expires_at"));
  if (!expires) return {"live", Paint::good};
  if (*expires <= now) return {"expired", Paint::faint};
  return {"expires " + format_ago(*expires, now), Paint::good};
}

// Only the secret goes to stdout, so that $(restante token create …) works; the hint is for a person at a terminal.
int print_secret(const std::string& secret, std::string_view hint) {
  if (::isatty(STDERR_FILENO) == 1) print_error(hint);
  return print(secret + '\n');
}

}  // namespace

int list_tokens(const TokenOptions& options) {
  Remote remote(options.remote);
  return print_answer(options.remote, remote.get(tokens_path(remote, options)),
                      [](const Json& list) { return format_tokens(list, SystemClock().now(), colours()); });
}

int create_token(const TokenOptions& options) {
  Remote remote(options.remote);
  const std::string answer = remote.post(
      tokens_path(remote, options), json_object([&](JsonWriter& body) { body.member_if("label", options.label); }));
  if (options.remote.json) return print(answer + '\n');
  return print_secret(parse_answer(answer).text("auth_token"),
                      "this token is shown once; keep it where the agent finds it");
}

int revoke_token(const TokenOptions& options) {
  Remote remote(options.remote);
  const std::string path = tokens_path(remote, options);
  const std::string id = TokenId::parse(options.token_id)
                             ? options.token_id
                             : pick_token(parse_answer(remote.get(path)), options.token_id);
  const std::string answer = remote.remove(path + '/' + id);
  return print(options.remote.json ? answer + '\n' : std::string("Revoked; its open requests have ended.\n"));
}

int rotate_admin_token(const TokenOptions& options) {
  if (!options.rotate)
    throw CommandFailed(kExitUsage,
                        "what shall be done with the operator's token? Write: restante token admin --rotate");
  Remote remote(options.remote);
  const std::string answer = remote.post("/admin/token/rotate", {});
  if (options.remote.json) return print(answer + '\n');
  return print_secret(
      parse_answer(answer).text("token"),
      "the old token is void and everybody is signed out; the server keeps this one in its admin.token");
}

std::string format_tokens(const Json& list, Time now, Colours colours) {
  const auto* all = list.if_array();
  if (!all || all->empty()) return "There is none: restante invite makes a line for an agent to paste.\n";
  std::vector<TableRow> rows;
  for (const Json& one : *all) {
    const std::string used = one.text("last_used_at");
    rows.push_back({{one.text("prefix") + "…"},
                    {one.text("kind")},
                    {one.text("label")},
                    {format_ago(one.text("created_at"), now)},
                    {used.empty() ? "never" : format_ago(used, now), used.empty() ? Paint::faint : Paint::plain},
                    state_cell(one, now),
                    {one.text("id")}});
  }
  return format_table({"TOKEN", "KIND", "LABEL", "CREATED", "LAST USED", "STATE", "ID"}, rows, colours);
}

std::string pick_token(const Json& list, const std::string& id_or_prefix) {
  std::string_view prefix = id_or_prefix;
  if (prefix.ends_with("…")) prefix.remove_suffix(std::string_view("…").size());
  std::string found;
  for (const Json& one : list.if_array() ? *list.if_array() : Json::Array()) {
    if (prefix.size() != kPrefixSize || one.text("prefix") != prefix || !one.text("revoked_at").empty()) continue;
    if (!found.empty())
      throw CommandFailed(kExitFailed, "several tokens begin so: give the id that restante token list shows");
    found = one.text("id");
  }
  // The error does not repeat the argument: a person may have pasted a whole token, and the output may be logged.
  if (found.empty())
    throw CommandFailed(kExitFailed, "no live token has this id or beginning: restante token list shows them");
  return found;
}

}  // namespace restante::cli
