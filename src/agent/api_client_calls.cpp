#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "agent/api_client.h"
#include "agent/attachments.h"
#include "agent/members.h"
#include "base/text.h"
#include "base/uuid.h"

namespace restante::agent {
namespace {

using client::expect_success;
using client::Failure;
using client::FormFile;
using client::Outcome;

constexpr int kAttempts = 3;  // of an upload whose connection breaks; its key makes it one upload
constexpr std::chrono::milliseconds kPause{500};
constexpr std::size_t kMaxAnswer = 16 << 20;
constexpr JsonLimits kAnswerLimits{.depth = 80, .nodes = 1'000'000};
constexpr std::uint64_t kPartOverhead = 1024;  // upper bound for the head of a multipart part

struct Batches {
  std::vector<std::vector<FormFile>> all;
  std::uint64_t bytes = 0;
};

// Batches that fit the server's limits. A file that the server would refuse is refused here, before anything is sent.
Outcome<Batches> divide(const std::vector<std::string>& paths, const Json& limits) {
  const auto per_file = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(limits, "per_file_bytes")));
  const auto per_request =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(limits, "per_request_bytes")));
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, number_of(limits, "max_files")));
  Batches made;
  std::uint64_t size = 0;
  for (const auto& path : paths) {
    FormFile file;
    try {
      file = client::describe_file(path);
    } catch (const client::UnreadableFile& unreadable) {
      return Failure(Failure::Kind::stopped, unreadable.what());
    }
    if (per_file > 0 && file.size > per_file) {
      return Failure(Failure::Kind::stopped, fmt::format("{}: has {} bytes, and this server takes at most {} a file",
                                                         path, file.size, per_file));
    }
    const auto cost = file.size + kPartOverhead;
    if (made.all.empty() || made.all.back().size() >= most || (per_request > 0 && size + cost > per_request)) {
      made.all.emplace_back();
      size = kPartOverhead;
    }
    size += cost;
    made.bytes += file.size;
    made.all.back().push_back(std::move(file));
  }
  return made;
}

}  // namespace

Outcome<Json> ApiClient::ask(const client::Request& request) {
  const auto answer = expect_success(http_.send(request));
  if (answer.has_error()) return answer.error();
  auto json = parse_json(answer->body, kAnswerLimits);
  if (json.has_error()) return Failure(Failure::Kind::protocol, "the server's answer is not valid JSON");
  return std::move(*json);
}

Outcome<std::vector<Json>> ApiClient::stage_files(const std::vector<std::string>& paths, const Sent& sent,
                                                  const std::string& key) {
  std::vector<Json> staged;
  if (paths.empty()) return staged;
  const auto limits = ask(request("GET", "/uploads/limits"));
  if (limits.has_error()) return limits.error();
  const auto batches = divide(paths, *limits);
  if (batches.has_error()) return batches.error();
  std::uint64_t before = 0;
  for (const auto& batch : batches->all) {
    const auto number = &batch - batches->all.data();
    auto files =
        send_batch(batch, before, batches->bytes, sent, key.empty() ? fresh_key() : fmt::format("{}-{}", key, number));
    if (files.has_error()) return files.error();
    for (const auto& file : batch) before += file.size;
    std::move(files->begin(), files->end(), std::back_inserter(staged));
  }
  return staged;
}

Outcome<std::vector<Json>> ApiClient::send_batch(const std::vector<FormFile>& files, std::uint64_t before,
                                                 std::uint64_t all, const Sent& sent, const std::string& key) {
  client::Form form(files);
  auto upload = request("POST", "/workspaces/" + workspace_ + "/chat/uploads?direction=out");
  upload.headers.push_back({"Content-Type", form.content_type()});
  upload.headers.push_back({"Idempotency-Key", key});
  upload.source_length = form.length();
  std::uint64_t done = 0;
  std::string unreadable;
  upload.source = [&](std::span<char> into) -> std::optional<std::size_t> {
    try {
      const auto bytes = form.read(into);
      done += bytes;
      if (!sent(std::min(before + done, all), all)) return std::nullopt;
      return bytes;
    } catch (const client::UnreadableFile& file) {
      unreadable = file.what();  // no exception here: the HTTP client must end the exchange itself
      return std::nullopt;
    }
  };
  for (int attempt = 1;; ++attempt) {
    form.rewind();
    done = 0;
    const auto answer = ask(upload);
    if (answer.has_value()) {
      const auto& list = list_of(*answer, "files");
      if (list.size() == files.size()) return std::vector<Json>(list.begin(), list.end());
      return Failure(Failure::Kind::protocol, "the answer to the upload names other files than were sent");
    }
    if (!unreadable.empty()) return Failure(Failure::Kind::stopped, unreadable);
    if (attempt == kAttempts || !answer.error().passes()) return answer.error();
    std::this_thread::sleep_for(kPause);
  }
}

Outcome<void> ApiClient::notify(std::string_view text, const std::vector<Json>& files, std::string_view key) {
  JsonWriter body;
  body.begin_object();
  body.member("message", text);
  write_attachments(body, files);
  body.end_object();
  auto notify = post("/workspaces/" + workspace_ + "/notify", body.take());
  notify.headers.push_back({"Idempotency-Key", std::string(key)});
  notify.repeatable = true;  // the key makes it safe
  const auto answer = ask(notify);
  if (answer.has_error()) return answer.error();
  return {};
}

Outcome<Json> ApiClient::describe() { return ask(request("GET", "/workspaces/" + workspace_)); }

Outcome<Json> ApiClient::peers() {
  auto list = request("GET", "/registry/" + workspace_ + "/peers");
  list.max_body = kMaxAnswer;
  return ask(list);
}

Outcome<Json> ApiClient::history(std::int64_t limit, const std::string& before) {
  auto target = fmt::format("/workspaces/{}/chat-history?limit={}", workspace_, limit);
  if (!before.empty()) target += "&before_ts=" + percent_encode(before);
  auto list = request("GET", target);
  list.max_body = kMaxAnswer;
  return ask(list);
}

Outcome<Json> ApiClient::delegate(const NewTask& task) {
  JsonWriter body;
  body.begin_object();
  body.member("target_id", task.target);
  body.member("task", task.text);
  body.member("delegation_id", task.id);
  if (!task.deadline.empty()) body.member("deadline", task.deadline);
  write_attachments(body, task.files);
  body.end_object();
  auto open = post("/workspaces/" + workspace_ + "/delegate", body.take());
  open.repeatable = true;  // the delegation id makes it safe
  return ask(open);
}

Outcome<Json> ApiClient::delegation(std::string_view id) {
  auto one = request("GET", fmt::format("/workspaces/{}/delegations/{}", workspace_, percent_encode(id)));
  one.max_body = kMaxAnswer;
  return ask(one);
}

}  // namespace restante::agent
