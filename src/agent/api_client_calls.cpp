#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "agent/api_client.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/file_part.h"

namespace restante::agent {
namespace {

using client::Failure;
using client::FormFile;
using client::Outcome;

constexpr int kAttempts = 3;  // of an upload whose connection breaks; its key makes it one upload
constexpr std::chrono::milliseconds kPause{500};

struct Batches {
  std::vector<std::vector<FormFile>> all;
  std::uint64_t bytes = 0;
};

// Batches that fit the server's limits. A file that the server would refuse is refused here, before anything is sent.
Outcome<Batches> divide(const std::vector<std::string>& paths, const Json& answer) {
  const auto limits = client::read_limits(answer);
  Batches made;
  std::vector<FormFile> files;
  for (const auto& path : paths) {
    try {
      files.push_back(client::describe_file(path));
    } catch (const client::UnreadableFile& unreadable) {
      return Failure(Failure::Kind::stopped, unreadable.what());
    }
    const auto size = files.back().size;
    if (limits.per_file > 0 && size > limits.per_file) {
      return Failure(Failure::Kind::stopped, fmt::format("{}: has {} bytes, and this server takes at most {} a file",
                                                         path, size, limits.per_file));
    }
    made.bytes += size;
  }
  made.all = client::divide(std::move(files), limits);
  return made;
}

}  // namespace

Outcome<std::vector<Json>> ApiClient::stage_files(const std::vector<std::string>& paths, const Sent& sent,
                                                  const std::string& key) {
  std::vector<Json> staged;
  if (paths.empty()) return staged;
  const auto limits = get("/uploads/limits");
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
  auto upload = request("POST", path("/chat/uploads?direction=out"));
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
      const auto& list = answer->items("files");
      if (list.size() == files.size()) return std::vector<Json>(list.begin(), list.end());
      return Failure(Failure::Kind::protocol, "the answer to the upload names other files than were sent");
    }
    if (!unreadable.empty()) return Failure(Failure::Kind::stopped, unreadable);
    if (attempt == kAttempts || !answer.error().passes()) return answer.error();
    std::this_thread::sleep_for(kPause);
  }
}

Outcome<void> ApiClient::notify(std::string_view text, const std::vector<Json>& files, std::string_view key,
                                std::string_view reply_to) {
  auto body = json_object([&](JsonWriter& out) {
    out.member("message", text);
    out.member_if("reply_to", reply_to);
    write_attachments(out, files);
  });
  auto notify = json_request(path("/notify"), std::move(body), key);
  notify.repeatable = true;  // the key makes it safe
  const auto answer = ask(notify);
  if (answer.has_error()) return answer.error();
  return {};
}

Outcome<Json> ApiClient::describe() { return get(path("")); }

Outcome<Json::Array> ApiClient::peers() {
  auto list = get("/registry/" + workspace_ + "/peers");
  if (list.has_error()) return list.error();
  return list->if_array() ? std::move(*list->if_array()) : Json::Array();
}

Outcome<Json> ApiClient::history(std::int64_t limit, const std::string& before) {
  auto target = path(fmt::format("/chat-history?limit={}", limit));
  if (!before.empty()) target += "&before_ts=" + percent_encode(before);
  return get(target);
}

Outcome<Json> ApiClient::delegate(const NewTask& task) {
  auto body = json_object([&](JsonWriter& out) {
    out.member("target_id", task.target);
    out.member("task", task.text);
    out.member("delegation_id", task.id);
    out.member_if("deadline", task.deadline);
    write_attachments(out, task.files);
  });
  auto open = json_request(path("/delegate"), std::move(body));
  open.repeatable = true;  // the delegation id makes it safe
  return ask(open);
}

Outcome<Json> ApiClient::delegation(std::string_view id) { return get(delegation_path(id, "")); }

}  // namespace restante::agent
