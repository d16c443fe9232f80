#include "api/handlers.h"

#include <algorithm>

#include "api/answers.h"
#include "base/text.h"

namespace restante::api {
namespace {

void write_message(JsonWriter& out, const desk::ChatMessage& message) {
  out.member("id", message.id);
  out.member("role", message.role == desk::ChatMessage::Role::user ? "user" : "agent");
  out.member("content", message.content);
  if (!message.attachments.empty()) {
    out.key("attachments");
    desk::write_files(out, message.attachments);
  }
  out.member("timestamp", message.timestamp);
}

http::Response page_answer(const Result<desk::ChatPage>& page) {
  if (!page) return answer(page.error());
  return object_answer(200, [&](JsonWriter& out) {
    out.objects("messages", page->messages, [&](const auto& message) { write_message(out, message); });
    out.member("reached_end", page->reached_end);
  });
}

}  // namespace

http::Response chat_history(const Context& context, http::Request& request) {
  std::optional<Time> before;
  if (const auto text = request.query_param("before_ts")) {
    before = parse_time(*text);
    if (!before) return answer(bad_parameter("before_ts", "before_ts must be an RFC3339 time"));
  }
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(0);
  const WorkspaceId id = workspace_in(request);
  const auto reading =
      context.chat_history.reading(id, static_cast<int>(std::clamp<std::int64_t>(limit, 0, 1'000)), before);
  if (!reading) return answer(reading.error());
  if (auto page = (*reading)->next()) return page_answer(*page);
  // Many rows without a message: other requests run between the steps.
  http::HeldPoll rest;
  rest.tenant = id.text();
  rest.attempt = [reading = *reading]() -> std::optional<http::Response> {
    const auto page = reading->next();
    return page ? std::optional(page_answer(*page)) : std::nullopt;
  };
  rest.unfinished = [] { return true; };
  rest.give_up = [] { return page_answer(desk::ChatPage()); };
  return http::held_poll(std::move(rest));
}

}  // namespace restante::api
