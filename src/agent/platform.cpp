#include "agent/platform.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

// A page is cut at 1 MiB of bodies and may hold one larger row; JSON escapes can multiply that by six.
constexpr std::size_t kMaxPage = 16 << 20;
constexpr JsonLimits kPageLimits{.depth = 80, .nodes = 4'000'000};
// How much later than promised an answer may come before the connection counts as dead.
constexpr std::chrono::seconds kPollSlack{15};

Outcome<Json> json_of(const client::Response& response, JsonLimits limits = {}) {
  auto json = parse_json(response.body, limits);
  if (json.has_error()) return Failure(Failure::Kind::protocol, "the server's answer is not valid JSON");
  return std::move(*json);
}

Outcome<void> without_answer(const Outcome<client::Response>& outcome) {
  if (outcome.has_error()) return outcome.error();
  return {};
}

std::string text_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_string() ? *value->if_string() : std::string();
}

std::optional<Row> row_of(const Json& json) {
  Row row;
  const auto* seq = json.find("seq");
  row.id = text_of(json, "id");
  if (row.id.empty() || !seq || !seq->integer()) return {};
  row.seq = *seq->integer();
  row.method = text_of(json, "method");
  row.created_at = text_of(json, "created_at");
  if (const auto source = text_of(json, "source_id"); !source.empty()) row.source_id = source;
  if (const auto* body = json.find("request_body")) row.request_body = *body;
  return row;
}

}  // namespace

Platform::Platform(client::Url server, std::string token, client::HttpOptions options)
    : http_(std::move(server), std::move(options)), token_(std::move(token)) {}

client::Request Platform::request(std::string method, std::string target) const {
  client::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!token_.empty()) request.headers.push_back({"Authorization", "Bearer " + token_});
  return request;
}

client::Request Platform::post(std::string target, std::string json) const {
  auto made = request("POST", std::move(target));
  made.headers.push_back({"Content-Type", "application/json"});
  made.body = std::move(json);
  return made;
}

std::string Platform::upload(FileId file, std::string_view rest) const {
  return "/workspaces/" + workspace_ + "/pending-uploads/" + file.text() + std::string(rest);
}

Outcome<Registration> Platform::enlist(const std::string& workspace) {
  JsonWriter body;
  body.begin_object();
  if (!workspace.empty()) body.member("id", workspace);
  body.key("agent_card");
  body.raw(R"({"name":"restante connect"})");
  body.member("delivery_mode", "poll");
  body.end_object();
  const auto answer = expect_success(http_.send(post("/registry/register", body.take())));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  if (json.has_error()) return json.error();
  Registration made{text_of(*json, "workspace_id"), text_of(*json, "auth_token")};
  if (made.workspace_id.empty()) made.workspace_id = text_of(*json, "id");
  if (made.workspace_id.empty()) made.workspace_id = workspace;
  const auto id = WorkspaceId::parse(made.workspace_id);
  if (!id) return Failure(Failure::Kind::protocol, "the server does not say which workspace this is; give --workspace");
  made.workspace_id = id->text();
  return made;
}

Outcome<void> Platform::beat(std::chrono::seconds uptime) {
  JsonWriter body;
  body.begin_object();
  body.member("workspace_id", workspace_);
  body.member("uptime_seconds", static_cast<std::int64_t>(uptime.count()));
  body.end_object();
  auto beat = post("/registry/heartbeat", body.take());
  beat.repeatable = true;
  return without_answer(expect_success(http_.send(beat)));
}

Outcome<std::vector<Row>> Platform::poll(std::int64_t since_seq, std::chrono::seconds wait) {
  auto poll = request("GET", fmt::format("/workspaces/{}/activity?type=a2a_receive&since_seq={}&wait={}", workspace_,
                                         since_seq, wait.count()));
  poll.patience = wait + kPollSlack;
  poll.max_body = kMaxPage;
  const auto answer = expect_success(http_.send(poll));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer, kPageLimits);
  if (json.has_error()) return json.error();
  if (!json->if_array()) return Failure(Failure::Kind::protocol, "the server's answer is no list of rows");
  std::vector<Row> rows;
  for (const auto& entry : *json->if_array()) {
    auto row = row_of(entry);
    if (!row) return Failure(Failure::Kind::protocol, "the server sent a row without id or seq");
    rows.push_back(std::move(*row));
  }
  return rows;
}

Outcome<client::Response> Platform::fetch(FileId file, std::uint64_t offset, const Bytes& sink) {
  auto fetch = request("GET", upload(file, "/content"));
  if (offset > 0) fetch.headers.push_back({"Range", fmt::format("bytes={}-", offset)});
  return expect_success(http_.download(fetch, sink));
}

Outcome<void> Platform::ack(FileId file) {
  auto ack = request("POST", upload(file, "/ack"));
  ack.repeatable = true;
  return without_answer(expect_success(http_.send(ack)));
}

Outcome<void> Platform::fail(FileId file, std::string_view reason) {
  JsonWriter body;
  body.begin_object();
  body.member("reason", reason);
  body.end_object();
  return without_answer(expect_success(http_.send(post(upload(file, "/fail"), body.take()))));
}

Outcome<std::string> Platform::state_of(FileId file) {
  const auto answer = expect_success(http_.send(request("GET", upload(file, ""))));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  if (json.has_error()) return json.error();
  return text_of(*json, "state");
}

Outcome<void> Platform::notify(std::string_view text, std::string_view key) {
  JsonWriter body;
  body.begin_object();
  body.member("message", text);
  body.end_object();
  auto notify = post("/workspaces/" + workspace_ + "/notify", body.take());
  notify.headers.push_back({"Idempotency-Key", std::string(key)});
  return without_answer(expect_success(http_.send(notify)));
}

}  // namespace restante::agent
