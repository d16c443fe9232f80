#include "api/handlers.h"

#include <algorithm>

#include "api/answers.h"
#include "base/text.h"

namespace restante::api {
namespace {

void write_message(JsonWriter& out, const desk::ChatMessage& message) {
  out.begin_object();
  out.member("id", message.id);
  out.member("role", message.role == desk::ChatMessage::Role::user ? "user" : "agent");
  out.member("content", message.content);
  if (!message.attachments.empty()) {
    out.key("attachments");
    desk::write_files(out, message.attachments);
  }
  out.member("timestamp", format_time(message.timestamp));
  out.end_object();
}

}  // namespace

http::Response chat_history(const Context& context, http::Request& request) {
  std::optional<Time> before;
  if (const auto text = request.query_param("before_ts")) {
    before = parse_time(*text);
    if (!before) return answer(bad_parameter("before_ts", "before_ts must be an RFC 3339 time"));
  }
  const auto limit = parse_clamped(request.query_param("limit").value_or("")).value_or(0);
  const auto page = context.chat_history.read(workspace_in(request),
                                              static_cast<int>(std::clamp<std::int64_t>(limit, 0, 1'000)), before);
  if (!page) return answer(page.error());
  JsonWriter out;
  out.begin_object();
  out.key("messages");
  out.begin_array();
  for (const desk::ChatMessage& message : page->messages) write_message(out, message);
  out.end_array();
  out.key("reached_end");
  out.boolean(page->reached_end);
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace restante::api
