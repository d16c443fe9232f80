#include "cli/chat/answers.h"

#include <fmt/format.h>

#include "model/file_part.h"

namespace restante::cli {
namespace {

// How long the server holds a poll; below every usual limit of a proxy.
constexpr std::int64_t kHoldSeconds = 25;

const Json& member_of(const Json& object, std::string_view name) {
  static const Json kNone;
  const Json* member = object.find(name);
  return member ? *member : kNone;
}

void add_text(Answer& answer, const std::string& text) {
  if (text.empty()) return;
  answer.text += (answer.text.empty() ? "" : "\n\n") + text;
}

void add_parts(Answer& answer, const Json& message) {
  for (const Json& part : message.items("parts")) {
    add_text(answer, part.text("text"));
    const Json& file = member_of(part, "file");
    if (!file.text("uri").empty()) answer.files.push_back(file);
  }
}

// A message, or a task with its status and artifacts.
Answer content_of(const Json& response) {
  Answer answer;
  const Json& result = member_of(response, "result");
  add_text(answer, response.text("result"));
  add_parts(answer, response);
  add_parts(answer, result);
  add_parts(answer, member_of(result, "message"));
  add_parts(answer, member_of(member_of(result, "status"), "message"));
  for (const Json& artifact : result.items("artifacts")) add_parts(answer, artifact);
  answer.reply_to = response.text("reply_to");
  return answer;
}

}  // namespace

std::optional<Answer> answer_in(const Json& row) {
  if (row.text("activity_type") != "a2a_receive" || row.text("method") != "notify") return {};
  return content_of(member_of(row, "response_body"));
}

std::optional<Answer> answer_of_callback(const Json& answer) {
  if (answer.text("status") == "queued") return {};
  return content_of(answer);
}

Answer wait_for_answer(RemoteWait& waiting, const SentMessage& message) {
  for (std::int64_t since = message.seq;;) {
    const auto rows =
        parse_list(waiting.get(fmt::format("/workspaces/{}/activity?type=a2a_receive&since_seq={}&wait={}",
                                           message.to.text(), since, waiting.hold_seconds(kHoldSeconds))));
    for (const Json& row : rows) {
      since = row.whole("seq");
      auto answer = answer_in(row);
      if (answer && (answer->reply_to.empty() || answer->reply_to == message.row)) return std::move(*answer);
    }
    // A server that shuts down answers at once.
    if (rows.empty()) waiting.pause(RemoteWait::Observed::change);
  }
}

void wait_until_taken(RemoteWait& waiting, const SentMessage& message) {
  while (true) {
    const Json acked = parse_answer(waiting.get("/workspaces/" + message.to.text() + "/activity/ack"));
    if (acked.whole("last_acked_seq") >= message.seq) return;
    waiting.pause(RemoteWait::Observed::no_change);
  }
}

}  // namespace restante::cli
