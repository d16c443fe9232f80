#include "agent/api_client.h"

#include <fmt/format.h>

#include "agent/delivery.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/a2a.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::Outcome;

// A page is cut at 1 MiB of bodies and may hold one larger row; JSON escapes can multiply that by six. The record of a
// task contains the whole task and its history.
constexpr std::size_t kMaxAnswer = 16 << 20;
constexpr JsonLimits kAnswerLimits{.depth = 80, .nodes = 4'000'000};
// How much later than `wait` an answer may come before the connection counts as dead.
constexpr std::chrono::seconds kPollSlack{15};
// A limit for an answer that arrives very slowly; a full page over a bad connection takes a while.
constexpr std::chrono::seconds kPollTotal{120};
constexpr int kWaitingPage = 500;

Failure not_understood(std::string sentence) { return {Failure::Kind::protocol, std::move(sentence)}; }

std::optional<ReceivedRow> row_of(const Json& json) {
  ReceivedRow row;
  const auto* seq = json.find("seq");
  row.id = json.text("id");
  if (row.id.empty() || !seq || !seq->integer()) return {};
  row.seq = *seq->integer();
  row.method = json.text("method");
  row.created_at = json.text("created_at");
  row.status = json.text("status");
  if (const auto source = json.text("source_id"); !source.empty()) row.source_id = source;
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
  request.max_body = kMaxAnswer;
  if (!token_.empty()) request.headers.push_back({"Authorization", "Bearer " + token_});
  return request;
}

client::Request ApiClient::json_request(std::string target, std::string json, std::string_view key) const {
  auto made = request("POST", std::move(target));
  made.headers.push_back({"Content-Type", "application/json"});
  if (!key.empty()) made.headers.push_back({"Idempotency-Key", std::string(key)});
  made.body = std::move(json);
  return made;
}

std::string ApiClient::path(std::string_view rest) const { return fmt::format("/workspaces/{}{}", workspace_, rest); }

std::string ApiClient::upload_path(FileId file, std::string_view rest) const {
  return path(fmt::format("/pending-uploads/{}{}", file.text(), rest));
}

std::string ApiClient::delegation_path(std::string_view id, std::string_view rest) const {
  return path(fmt::format("/delegations/{}{}", percent_encode(id), rest));
}

Outcome<Json> ApiClient::ask(const client::Request& request) {
  const auto answer = expect_success(http_.send(request));
  if (answer.has_error()) return answer.error();
  auto json = parse_json(answer->body, kAnswerLimits);
  if (json.has_error()) return not_understood("the server's answer is not valid JSON");
  return std::move(*json);
}

Outcome<void> ApiClient::tell(const client::Request& request) {
  const auto answer = expect_success(http_.send(request));
  if (answer.has_error()) return answer.error();
  return {};
}

Outcome<Json> ApiClient::get(std::string target) { return ask(request("GET", std::move(target))); }

Outcome<Json> ApiClient::post(std::string target, std::string type, std::string body) {
  auto made = request("POST", std::move(target));
  made.headers.push_back({"Content-Type", std::move(type)});
  made.body = std::move(body);
  return ask(made);
}

Outcome<RegistrationAnswer> ApiClient::register_agent(const std::string& workspace, const std::string& name) {
  const auto registration = [&](bool with_card) {
    auto body = json_object([&](JsonWriter& out) {
      out.member_if("id", workspace);
      out.member("name", name);
      if (with_card) out.object("agent_card", [&] { out.member("name", name); });
      out.member("delivery_mode", "poll");
    });
    return json_request("/registry/register", std::move(body));
  };
  auto answer = ask(registration(false));
  // A server that requires a card gets one; Restante keeps the card that the operator wrote.
  if (answer.has_error() && answer.error().is_status(400)) answer = ask(registration(true));
  if (answer.has_error()) return answer.error();
  RegistrationAnswer made{answer->text("workspace_id"), answer->text("auth_token")};
  if (made.workspace_id.empty()) made.workspace_id = answer->text("id");
  if (made.workspace_id.empty()) made.workspace_id = workspace;
  const auto id = WorkspaceId::parse(made.workspace_id);
  if (!id) return not_understood("the server's answer does not name the workspace; give --workspace");
  made.workspace_id = id->text();
  return made;
}

Outcome<std::uint64_t> ApiClient::largest_file() {
  const auto limits = get("/uploads/limits");
  if (limits.has_error()) return limits.error();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, limits->whole("per_file_bytes")));
}

Outcome<std::int64_t> ApiClient::last_acked() {
  auto read = json_request(path("/activity/ack"), R"({"acked_seq":0})");
  read.repeatable = true;
  const auto answer = ask(read);
  if (answer.has_error()) return answer.error();
  return answer->whole("last_acked_seq");
}

Outcome<std::vector<PendingFile>> ApiClient::waiting() {
  std::vector<PendingFile> all;
  for (;;) {
    auto target = path(fmt::format("/pending-uploads?limit={}", kWaitingPage));
    if (!all.empty()) target += "&after=" + all.back().id.text();
    const auto page = get(target);
    if (page.has_error()) return page.error();
    if (!page->if_array()) return not_understood("the server's answer is not a list of files");
    for (const auto& entry : *page->if_array()) {
      const auto id = FileId::parse(entry.text("file_id"));
      if (!id) return not_understood("the server lists a file without an id");
      all.push_back({*id, entry.text("name"), static_cast<std::uint64_t>(entry.whole("size")), entry.text("sha256"),
                     entry.text("uri"), entry.text("created_at")});
    }
    if (page->if_array()->size() < static_cast<std::size_t>(kWaitingPage)) return all;
  }
}

Outcome<void> ApiClient::beat(std::chrono::seconds uptime) {
  auto body = json_object([&](JsonWriter& out) {
    out.member("workspace_id", workspace_);
    out.member("uptime_seconds", static_cast<std::int64_t>(uptime.count()));
  });
  auto beat = json_request("/registry/heartbeat", std::move(body));
  beat.repeatable = true;
  return tell(beat);
}

Outcome<std::vector<ReceivedRow>> ApiClient::poll(std::int64_t since_seq, std::string_view since_id,
                                                  std::chrono::seconds wait) {
  const auto cursor = since_id.empty() ? fmt::format("since_seq={}", since_seq) : fmt::format("since_id={}", since_id);
  auto poll = request("GET", path(fmt::format("/activity?type=a2a_receive&{}&wait={}", cursor, wait.count())));
  poll.patience = wait + kPollSlack;
  poll.total = wait + kPollTotal;
  const auto page = ask(poll);
  if (page.has_error()) return page.error();
  if (!page->if_array()) return not_understood("the server's answer is not a list of inbox entries");
  std::vector<ReceivedRow> rows;
  for (const auto& entry : *page->if_array()) {
    auto row = row_of(entry);
    if (!row) return not_understood("the server sent an inbox entry without id or seq");
    rows.push_back(std::move(*row));
  }
  return rows;
}

Outcome<std::string> ApiClient::row_at(std::int64_t seq) {
  const auto page = get(path(fmt::format("/activity?since_seq={}&limit=1", seq - 1)));
  if (page.has_error() && page.error().is_status(410)) return std::string();
  if (page.has_error()) return page.error();
  if (!page->if_array()) return not_understood("the server's answer is not a list of inbox entries");
  for (const auto& entry : *page->if_array()) {
    if (const auto row = row_of(entry); row && row->seq == seq) return row->id;
  }
  return std::string();
}

Outcome<client::Response> ApiClient::fetch(FileId file, std::uint64_t offset, const Bytes& sink) {
  auto fetch = request("GET", upload_path(file, "/content"));
  if (offset > 0) fetch.headers.push_back({"Range", fmt::format("bytes={}-", offset)});
  return expect_success(http_.download(fetch, sink));
}

Outcome<void> ApiClient::ack(FileId file) {
  auto ack = request("POST", upload_path(file, "/ack"));
  ack.repeatable = true;
  return tell(ack);
}

Outcome<void> ApiClient::fail(FileId file, std::string_view reason) {
  auto body = json_object([&](JsonWriter& out) { out.member("reason", reason); });
  return tell(json_request(upload_path(file, "/fail"), std::move(body)));
}

Outcome<std::string> ApiClient::state_of(FileId file) {
  const auto status = get(upload_path(file, ""));
  if (status.has_error()) return status.error();
  return status->text("state");
}

Outcome<void> ApiClient::message(const std::string& workspace, std::string_view text, std::int64_t hops,
                                 std::string_view key, const std::vector<Json>& files) {
  auto call = message_call(key, [&](JsonWriter& out) {
    out.member("messageId", key);
    out.member("role", "agent");
    write_parts(out, text, files, [&](const Json& file) { out.raw(file.dump()); });
    out.object("metadata", [&] { out.member(kHopsMember, hops); });
  });
  return tell(json_request("/workspaces/" + workspace + "/a2a", std::move(call), key));
}

}  // namespace restante::agent
