#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {
namespace {

// Data is compact JSON: always one line, whatever a name or a message contains.
std::string to_wire(const desk::Event& event) {
  std::string text;
  if (event.id) text += "id: " + std::to_string(*event.id) + "\n";
  text += "event: " + event.name + "\ndata: " + event.data + "\n\n";
  return text;
}

template <class Stream>
http::Response stream(const Principal& who, std::string tenant, std::vector<std::string> topics,
                      std::shared_ptr<Stream> source) {
  http::Events events;
  events.topics = desk::revocation_topics(who);
  for (std::string& topic : topics) events.topics.push_back(std::move(topic));
  events.owner = who.limit_owner();
  events.tenant = std::move(tenant);
  events.next = [source = std::move(source)]() -> std::optional<http::Events::Step> {
    const auto step = source->next();
    if (!step) return std::nullopt;
    http::Events::Step wire;
    for (const desk::Event& event : step->events) wire.text += to_wire(event);
    wire.more = step->more;
    return wire;
  };
  return http::events(std::move(events));
}

}  // namespace

http::Response workspace_events(const Context& context, http::Request& request) {
  const WorkspaceId id = workspace_in(request);
  const Principal& who = caller(request);
  std::optional<std::string_view> last_event_id;
  if (request.header_count("Last-Event-ID") > 0) last_event_id = request.header("Last-Event-ID");
  auto source = context.events.follow(who, id, last_event_id);
  if (!source) return answer(source.error());
  return stream(who, id.text(), {desk::topic_of(id), desk::live_topic_of(id)}, std::move(*source));
}

http::Response all_events(const Context& context, http::Request& request) {
  const Principal& who = caller(request);
  return stream(who, {}, {std::string(desk::kAllEventsTopic)}, context.events.follow_all(who));
}

}  // namespace restante::api
