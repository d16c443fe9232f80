#include "cli/remote/remote.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "cli/server/address.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/values.h"

namespace restante::cli {
namespace {

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:8080";
// Enough for a list of ten thousand workspaces with their cards. The memory is that of the user's own machine.
constexpr std::size_t kMaxAnswer = 64 << 20;
// A held poll answers after 50 s at the latest; a server that syncs a big file may be silent for a while.
constexpr auto kPatience = std::chrono::seconds(90);
constexpr int kAttempts = 4;
constexpr JsonLimits kAnswerLimits{.depth = 80, .nodes = 4'000'000};

std::string default_data() {
  const char* data = std::getenv("RESTANTE_DATA");
  return data && *data ? data : "./data";
}

// The address that a server on this machine has noted in its data directory; only when no other was given.
std::optional<std::string> noted_server(const RemoteOptions& options) {
  if (!options.url.empty()) return {};
  return noted_address(options.data.empty() ? default_data() : options.data);
}

client::Url server_of(const RemoteOptions& options) {
  const std::string text = options.url.empty() ? noted_server(options).value_or(std::string(kDefaultUrl)) : options.url;
  const auto url = client::parse_url(text);
  if (url.has_error()) throw CommandFailed(kExitUsage, fmt::format("--url {}: {}", text, url.error().sentence));
  return *url;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

struct FoundToken {
  std::string secret;
  std::string origin;
};

// The admin.token of this machine is only for a server on this machine: another server would learn the secret. --data
// shows that the user means it. Without --url it is only for the server of that data directory, while that runs: any
// other program could listen on the usual port.
FoundToken admin_file(const RemoteOptions& options, const client::Url& server) {
  if (options.data.empty() && !is_loopback(server.host) && !noted_server(options)) {
    throw CommandFailed(kExitNotPermitted,
                        fmt::format("{} wants a token: give --token-file FILE or set RESTANTE_TOKEN", server.text()));
  }
  const auto file = std::filesystem::path(options.data.empty() ? default_data() : options.data) / "admin.token";
  std::string secret = first_line(file.string());
  if (secret.empty()) {
    throw CommandFailed(kExitNotPermitted,
                        fmt::format("there is no token: {} cannot be read. Give --token-file FILE, set "
                                    "RESTANTE_TOKEN, or name the server's data directory with --data",
                                    file.string()));
  }
  if (options.url.empty() && !noted_server(options)) {
    throw CommandFailed(kExitUnavailable,
                        fmt::format("the server of {} is not running. Start it with restante serve, or name a server "
                                    "with --url or RESTANTE_URL",
                                    file.parent_path().string()));
  }
  return {std::move(secret), file.string()};
}

FoundToken find_token(const RemoteOptions& options, const client::Url& server) {
  if (!options.token_file.empty()) {
    std::string secret = first_line(options.token_file);
    if (secret.empty())
      throw CommandFailed(kExitNotPermitted, "no token can be read from --token-file " + options.token_file);
    return {std::move(secret), options.token_file};
  }
  if (!options.token.empty()) return {std::string(trim(options.token)), "RESTANTE_TOKEN"};
  return admin_file(options, server);
}

// Such characters are in no token, and a header cannot contain them.
void check_token(const FoundToken& token) {
  for (const char c : token.secret) {
    if (static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f) continue;
    throw CommandFailed(kExitNotPermitted, fmt::format("{} does not contain a token", token.origin));
  }
}

[[noreturn]] void refuse(const client::Failure& failure, const client::Url& server, const std::string& token_origin) {
  if (failure.kind == client::Failure::Kind::bad_url) throw CommandFailed(kExitUsage, failure.sentence);
  if (failure.kind != client::Failure::Kind::status) {
    throw CommandFailed(kExitUnavailable,
                        fmt::format("no answer from {}: {}. Is it running there? Start it with restante serve, or name "
                                    "the right one with --url or RESTANTE_URL",
                                    server.text(), failure.sentence));
  }
  if (failure.status == 401 || failure.status == 403) {
    throw CommandFailed(kExitNotPermitted,
                        fmt::format("{} (asked {}; the token is from {}; --token-file, RESTANTE_TOKEN or --data give "
                                    "another)",
                                    failure.sentence, server.text(), token_origin));
  }
  if (failure.code == "not_found" || failure.code == "method_not_allowed") {
    throw CommandFailed(kExitFailed, fmt::format("{} does not know this command: it is no Restante, or another "
                                                 "version than this one",
                                                 server.text()));
  }
  throw CommandFailed(
      failure.passes() ? kExitTryAgain : kExitFailed,
      fmt::format("{} (asked {} with the token from {})", failure.sentence, server.text(), token_origin), failure.code);
}

}  // namespace

Remote::Remote(const RemoteOptions& options) : http_(server_of(options)) {
  const client::Url& server = http_.server();
  FoundToken token = find_token(options, server);
  check_token(token);
  if (!server.tls && !is_loopback(server.host))
    warn(fmt::format("{} is not https: everybody on the network path can read the token", server.text()));
  token_ = std::move(token.secret);
  token_origin_ = std::move(token.origin);
}

client::Request Remote::request_to(const std::string& method, const std::string& target) const {
  client::Request request;
  request.method = method;
  request.target = target;
  request.max_body = kMaxAnswer;
  request.patience = kPatience;
  request.headers.push_back({"Authorization", "Bearer " + token_});
  request.headers.push_back({"Accept", "application/json"});
  return request;
}

std::string Remote::send(const std::string& method, const std::string& target, std::string json) {
  client::Request request = request_to(method, target);
  if (!json.empty()) request.headers.push_back({"Content-Type", "application/json"});
  request.body = std::move(json);
  auto answer = client::expect_success(http_.send(request));
  if (answer.has_error()) refuse(answer.error(), http_.server(), token_origin_);
  return std::move(answer->body);
}

std::string Remote::send_persistently(const client::Request& request, const std::function<void()>& before) {
  for (int attempt = 1;; ++attempt) {
    before();
    auto answer = client::expect_success(http_.send(request));
    if (answer.has_value()) return std::move(answer->body);
    const client::Failure& failure = answer.error();
    if (attempt == kAttempts || !failure.passes()) refuse(failure, http_.server(), token_origin_);
    const auto pause = failure.retry_after.value_or(std::chrono::seconds(attempt));
    warn(fmt::format("{}; trying again in {} s", failure.sentence, pause.count()));
    std::this_thread::sleep_for(pause);
  }
}

std::string Remote::post_once(const std::string& target, std::string json, const std::string& key) {
  client::Request request = request_to("POST", target);
  request.headers.push_back({"Content-Type", "application/json"});
  request.headers.push_back({"Idempotency-Key", key});
  request.body = std::move(json);
  return send_persistently(request, [] {});
}

std::string Remote::upload_once(const std::string& target, client::Form& form, Progress& progress,
                                const std::string& key) {
  client::Request request = request_to("POST", target);
  request.headers.push_back({"Content-Type", form.content_type()});
  request.headers.push_back({"Idempotency-Key", key});
  request.source_length = form.length();
  std::optional<CommandFailed> unreadable;
  request.source = [&](std::span<char> into) -> std::optional<std::size_t> {
    try {
      const std::size_t bytes = form.read(into);
      progress.add(bytes);
      return bytes;
    } catch (const client::UnreadableFile& file) {
      // No exception here: the HTTP client must end the exchange itself.
      unreadable.emplace(kExitFailed, std::string("--file ") + file.what());
      return std::nullopt;
    }
  };
  try {
    return send_persistently(request, [&] {
      form.rewind();
      progress.restart();
    });
  } catch (const CommandFailed&) {
    if (unreadable) throw CommandFailed(*unreadable);
    throw;
  }
}

WorkspaceId Remote::find_workspace(const std::string& id_or_name) {
  if (const auto id = WorkspaceId::parse(id_or_name)) return *id;
  std::vector<Json> found;
  for (const Json& workspace : parse_list(get("/workspaces"))) {
    const std::string id = workspace.text("id");
    if (workspace.text("name") == id_or_name || short_id(id) == id_or_name) found.push_back(workspace);
  }
  if (found.empty())
    throw CommandFailed(kExitFailed, fmt::format("no workspace is called {} (restante workspace list shows them)",
                                                 in_quotes(id_or_name)));
  if (found.size() > 1) {
    std::string list;
    for (const Json& one : found) list += (list.empty() ? "" : "; ") + describe_candidate(one, SystemClock().now());
    throw CommandFailed(kExitFailed, fmt::format("several workspaces are called {}: give the id of one: {}",
                                                 in_quotes(id_or_name), list));
  }
  const auto id = WorkspaceId::parse(found.front().text("id"));
  if (!id) throw CommandFailed(kExitFailed, "the server's list names a workspace without an id");
  return *id;
}

std::string short_id(std::string_view id) { return std::string(id.size() > 8 ? id.substr(id.size() - 8) : id); }

std::string describe_candidate(const Json& workspace, Time now) {
  const auto seen = std::max(workspace.text("last_heartbeat_at"), workspace.text("last_poll_at"));
  return fmt::format("{} ({})", workspace.text("id"),
                     seen.empty() ? "never seen" : "last seen " + format_ago(seen, now));
}

std::string Remote::own_workspace() { return parse_answer(get("/session")).text("workspace_id"); }

std::string Remote::role() { return parse_answer(get("/session")).text("role"); }

client::Outcome<client::Response> Remote::download(const std::string& target, std::uint64_t offset,
                                                   const client::HttpClient::Sink& sink) {
  client::Request request = request_to("GET", target);
  if (offset > 0) request.headers.push_back({"Range", fmt::format("bytes={}-", offset)});
  return client::expect_success(http_.download(request, sink));
}

WorkspaceId Remote::find_workspace_or_own(const std::string& id_or_name, const std::string& question) {
  if (!id_or_name.empty()) return find_workspace(id_or_name);
  if (const auto own = WorkspaceId::parse(own_workspace())) return *own;
  throw CommandFailed(kExitUsage, question + " (restante workspace list shows them)");
}

Json parse_answer(std::string_view body) {
  auto json = parse_json(body, kAnswerLimits);
  if (json.has_error()) throw CommandFailed(kExitFailed, "the server's answer is not JSON: it is no Restante");
  return std::move(*json);
}

Json::Array parse_list(std::string_view body) {
  const Json list = parse_answer(body);
  return list.if_array() ? *list.if_array() : Json::Array();
}

int print_answer(const RemoteOptions& options, const std::string& answer,
                 const std::function<std::string(const Json&)>& format) {
  return print(options.json ? answer + '\n' : format(parse_answer(answer)));
}

void check_choice(const std::string& name, const std::string& given, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, given) != choices.end()) return;
  if (const auto meant = nearest(given, choices); !meant.empty())
    throw CommandFailed(kExitUsage, fmt::format("there is no such {}: did you mean --{} {}?", name, name, meant));
  throw CommandFailed(kExitUsage, fmt::format("--{} is one of {} or {}", name,
                                              fmt::join(choices.begin(), choices.end() - 1, ", "), choices.back()));
}

}  // namespace restante::cli
