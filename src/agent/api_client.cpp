#include "agent/api_client.h"

#include <fmt/format.h>

#include "agent/attachments.h"
#include "agent/delivery.h"
#include "agent/members.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

// A page is cut at 1 MiB of bodies and may hold one larger row; JSON escapes can multiply that by six.
constexpr std::size_t kMaxPage = 16 << 20;
constexpr JsonLimits kPageLimits{.depth = 80, .nodes = 4'000'000};
// How much later than `wait` an answer may come before the connection counts as dead.
constexpr std::chrono::seconds kPollSlack{15};
// A limit for an answer that arrives very slowly; a full page over a bad connection takes a while.
constexpr std::chrono::seconds kPollTotal{120};
constexpr int kWaitingPage = 500;

Outcome<Json> json_of(const client::Response& response, JsonLimits limits = {}) {
  auto json = parse_json(response.body, limits);
  if (json.has_error()) return Failure(Failure::Kind::protocol, "the server's answer is not valid JSON");
  return std::move(*json);
}

Outcome<void> without_answer(const Outcome<client::Response>& outcome) {
  if (outcome.has_error()) return outcome.error();
  return {};
}

std::optional<ReceivedRow> row_of(const Json& json) {
  ReceivedRow row;
  const auto* seq = json.find("seq");
  row.id = text_of(json, "id");
  if (row.id.empty() || !seq || !seq->integer()) return {};
  row.seq = *seq->integer();
  row.method = text_of(json, "method");
  row.created_at = text_of(json, "created_at");
  row.status = text_of(json, "status");
  if (const auto source = text_of(json, "source_id"); !source.empty()) row.source_id = source;
  if (const auto* body = json.find("request_body")) row.request_body = *body;
  return row;
}

}  // namespace

bool may_yet_succeed(const Failure& failure) {
  return failure.passes() || (failure.kind == Failure::Kind::status && failure.status / 100 == 3);
}

ApiClient::ApiClient(client::Url server, std::string token, client::HttpOptions options)
    : http_(std::move(server), std::move(options)), token_(std::move(token)) {}

client::Request ApiClient::request(std::string method, std::string target) const {
  client::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!token_.empty()) request.headers.push_back({"Authorization", "Bearer " + token_});
  return request;
}

client::Request ApiClient::post(std::string target, std::string json) const {
  auto made = request("POST", std::move(target));
  made.headers.push_back({"Content-Type", "application/json"});
  made.body = std::move(json);
  return made;
}

std::string ApiClient::upload(FileId file, std::string_view rest) const {
  return "/workspaces/" + workspace_ + "/pending-uploads/" + file.text() + std::string(rest);
}

Outcome<RegistrationAnswer> ApiClient::register_agent(const std::string& workspace, const std::string& name) {
  const auto body = [&](bool with_card) {
    JsonWriter out;
    out.begin_object();
    if (!workspace.empty()) out.member("id", workspace);
    out.member("name", name);
    if (with_card) {
      out.key("agent_card");
      out.begin_object();
      out.member("name", name);
      out.end_object();
    }
    out.member("delivery_mode", "poll");
    out.end_object();
    return out.take();
  };
  auto answer = expect_success(http_.send(post("/registry/register", body(false))));
  // A server that requires a card gets one; Restante keeps the card that the operator wrote.
  if (answer.has_error() && answer.error().kind == Failure::Kind::status && answer.error().status == 400)
    answer = expect_success(http_.send(post("/registry/register", body(true))));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  if (json.has_error()) return json.error();
  RegistrationAnswer made{text_of(*json, "workspace_id"), text_of(*json, "auth_token")};
  if (made.workspace_id.empty()) made.workspace_id = text_of(*json, "id");
  if (made.workspace_id.empty()) made.workspace_id = workspace;
  const auto id = WorkspaceId::parse(made.workspace_id);
  if (!id) return Failure(Failure::Kind::protocol, "the server's answer does not name the workspace; give --workspace");
  made.workspace_id = id->text();
  return made;
}

Outcome<std::optional<std::uint64_t>> ApiClient::largest_file() {
  using Largest = std::optional<std::uint64_t>;
  const auto answer = expect_success(http_.send(request("GET", "/uploads/limits")));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  const auto bytes = json.has_value() ? number_of(*json, "per_file_bytes") : 0;
  return bytes > 0 ? Largest(static_cast<std::uint64_t>(bytes)) : Largest();
}

Outcome<std::int64_t> ApiClient::last_acked() {
  auto ask = post("/workspaces/" + workspace_ + "/activity/ack", R"({"acked_seq":0})");
  ask.repeatable = true;
  const auto answer = expect_success(http_.send(ask));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  if (json.has_error()) return json.error();
  return number_of(*json, "last_acked_seq");
}

Outcome<std::vector<PendingFile>> ApiClient::waiting() {
  std::vector<PendingFile> all;
  for (;;) {
    auto target = fmt::format("/workspaces/{}/pending-uploads?limit={}", workspace_, kWaitingPage);
    if (!all.empty()) target += "&after=" + all.back().id.text();
    auto list = request("GET", target);
    list.max_body = kMaxPage;
    const auto answer = expect_success(http_.send(list));
    if (answer.has_error()) return answer.error();
    const auto json = json_of(*answer, kPageLimits);
    if (json.has_error()) return json.error();
    if (!json->if_array()) return Failure(Failure::Kind::protocol, "the server's answer is not a list of files");
    for (const auto& entry : *json->if_array()) {
      const auto id = FileId::parse(text_of(entry, "file_id"));
      if (!id) return Failure(Failure::Kind::protocol, "the server lists a file without an id");
      all.push_back({*id, text_of(entry, "name"), static_cast<std::uint64_t>(number_of(entry, "size")),
                     text_of(entry, "sha256"), text_of(entry, "uri"), text_of(entry, "created_at")});
    }
    if (json->if_array()->size() < static_cast<std::size_t>(kWaitingPage)) return all;
  }
}

Outcome<void> ApiClient::beat(std::chrono::seconds uptime) {
  JsonWriter body;
  body.begin_object();
  body.member("workspace_id", workspace_);
  body.member("uptime_seconds", static_cast<std::int64_t>(uptime.count()));
  body.end_object();
  auto beat = post("/registry/heartbeat", body.take());
  beat.repeatable = true;
  return without_answer(expect_success(http_.send(beat)));
}

Outcome<std::vector<ReceivedRow>> ApiClient::poll(std::int64_t since_seq, std::chrono::seconds wait) {
  auto poll = request("GET", fmt::format("/workspaces/{}/activity?type=a2a_receive&since_seq={}&wait={}", workspace_,
                                         since_seq, wait.count()));
  poll.patience = wait + kPollSlack;
  poll.total = wait + kPollTotal;
  poll.max_body = kMaxPage;
  const auto answer = expect_success(http_.send(poll));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer, kPageLimits);
  if (json.has_error()) return json.error();
  if (!json->if_array()) return Failure(Failure::Kind::protocol, "the server's answer is not a list of inbox entries");
  std::vector<ReceivedRow> rows;
  for (const auto& entry : *json->if_array()) {
    auto row = row_of(entry);
    if (!row) return Failure(Failure::Kind::protocol, "the server sent an inbox entry without id or seq");
    rows.push_back(std::move(*row));
  }
  return rows;
}

Outcome<client::Response> ApiClient::fetch(FileId file, std::uint64_t offset, const Bytes& sink) {
  auto fetch = request("GET", upload(file, "/content"));
  if (offset > 0) fetch.headers.push_back({"Range", fmt::format("bytes={}-", offset)});
  return expect_success(http_.download(fetch, sink));
}

Outcome<void> ApiClient::ack(FileId file) {
  auto ack = request("POST", upload(file, "/ack"));
  ack.repeatable = true;
  return without_answer(expect_success(http_.send(ack)));
}

Outcome<void> ApiClient::fail(FileId file, std::string_view reason) {
  JsonWriter body;
  body.begin_object();
  body.member("reason", reason);
  body.end_object();
  return without_answer(expect_success(http_.send(post(upload(file, "/fail"), body.take()))));
}

Outcome<std::string> ApiClient::state_of(FileId file) {
  const auto answer = expect_success(http_.send(request("GET", upload(file, ""))));
  if (answer.has_error()) return answer.error();
  const auto json = json_of(*answer);
  if (json.has_error()) return json.error();
  return text_of(*json, "state");
}

Outcome<void> ApiClient::notify(std::string_view text, std::string_view key) {
  JsonWriter body;
  body.begin_object();
  body.member("message", text);
  body.end_object();
  auto notify = post("/workspaces/" + workspace_ + "/notify", body.take());
  notify.headers.push_back({"Idempotency-Key", std::string(key)});
  return without_answer(expect_success(http_.send(notify)));
}

Outcome<void> ApiClient::message(const std::string& workspace, std::string_view text, std::int64_t hops,
                                 std::string_view key, const std::vector<Json>& files) {
  JsonWriter body;
  body.begin_object();
  body.member("jsonrpc", "2.0");
  body.member("id", key);
  body.member("method", "message/send");
  body.key("params");
  body.begin_object();
  body.key("message");
  body.begin_object();
  body.member("messageId", key);
  body.member("role", "agent");
  body.key("parts");
  body.begin_array();
  body.begin_object();
  body.member("kind", "text");
  body.member("text", text);
  body.end_object();
  for (const Json& file : files) {
    body.begin_object();
    body.member("kind", "file");
    body.key("file");
    body.raw(file.dump());
    body.end_object();
  }
  body.end_array();
  body.key("metadata");
  body.begin_object();
  body.member(kHopsMember, hops);
  for (int open = 0; open < 4; ++open) body.end_object();
  auto send = post("/workspaces/" + workspace + "/a2a", body.take());
  send.headers.push_back({"Idempotency-Key", std::string(key)});
  return without_answer(expect_success(http_.send(send)));
}

}  // namespace restante::agent
