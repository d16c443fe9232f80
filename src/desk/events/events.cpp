#include "desk/events/events.h"

#include "base/text.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kStepRows = 100;
constexpr std::size_t kStepEvents = 100;

}  // namespace

Result<void> WorkspaceEvents::begin(std::optional<std::string_view> last_event_id) {
  const auto workspace = store_.find_workspace(workspace_);
  if (!workspace) return workspace.error();
  if (workspace->status == WorkspaceStatus::removed) return errors::workspace_removed;
  last_event_ = event_bus_.last();
  const auto head = store_.find_head(workspace_);
  if (!head) return head.error();
  const auto replayed = last_event_id ? replay_from(*last_event_id, head->last_seq) : std::nullopt;
  position_ = replayed.value_or(head->last_seq);
  opening_ = resync(workspace_, head->last_seq, position_, replayed.has_value());
  return {};
}

std::optional<std::int64_t> WorkspaceEvents::replay_from(std::string_view last_event_id, std::int64_t head) {
  const auto seq = parse_signed(last_event_id);
  if (!seq || *seq < 0 || *seq > head) return std::nullopt;
  if (*seq == head) return seq;  // also if the row has been pruned: no row came after it
  InboxQuery query;
  query.since_seq = seq;
  query.limit = 1;
  if (!store_.read_inbox(workspace_, query)) return std::nullopt;
  return seq;
}

bool WorkspaceEvents::over() {
  if (!principals_.still_live(caller_)) return true;
  const auto workspace = store_.find_workspace(workspace_);
  return !workspace || workspace->status == WorkspaceStatus::removed;
}

std::optional<EventStep> WorkspaceEvents::next() {
  if (over()) return std::nullopt;
  EventStep step;
  if (opening_) step.events.push_back(std::move(*opening_));
  opening_.reset();
  // In this order: every row that an event names is also in the rows, which are read later.
  const EventBus::Page live = event_bus_.since(last_event_, workspace_, kStepEvents);
  const auto head = store_.find_head(workspace_);
  if (!head) return std::nullopt;
  InboxQuery query;
  query.above_seq = position_;
  query.limit = kStepRows;
  const auto rows = store_.read_inbox(workspace_, query);
  if (!rows) return std::nullopt;
  if (!rows->empty()) position_ = rows->back().seq;
  if (!rows->empty() && position_ < head->last_seq) {
    // The live events wait until all earlier rows have been sent.
    for (const InboxRow& row : *rows) append_events(row, step.events);
    step.more = true;
    return step;
  }
  interleave(*rows, live, step.events);
  if (live.missed) step.events.push_back(resync(workspace_, position_, position_, false));
  last_event_ = live.last;
  step.more = live.more;
  return step;
}

void WorkspaceEvents::interleave(const std::vector<InboxRow>& rows, const EventBus::Page& live,
                                 std::vector<Event>& events) const {
  auto row = rows.begin();
  for (const LiveEvent& item : live.items) {
    for (; row != rows.end() && row->seq <= item.seq; ++row) append_events(*row, events);
    if (item.seq == 0) append_events(item, events);
  }
  for (; row != rows.end(); ++row) append_events(*row, events);
}

void WorkspaceEvents::append_events(const InboxRow& row, std::vector<Event>& events) const {
  if (caller_.sees_chat_only() && !is_chat(row)) return;
  for (Event& event : events_of(row)) events.push_back(std::move(event));
}

void WorkspaceEvents::append_events(const LiveEvent& item, std::vector<Event>& events) const {
  if (!caller_.sees_chat_only() || is_chat(item)) events.push_back(event_of(item));
}

std::optional<EventStep> AllEvents::next() {
  if (!principals_.still_live(caller_)) return std::nullopt;
  const EventBus::Page live = event_bus_.since(last_event_, std::nullopt, kStepEvents);
  EventStep step;
  if (!opened_ || live.missed) step.events.push_back(resync_all());
  opened_ = true;
  for (const LiveEvent& item : live.items) {
    if (item.seq == 0) {
      step.events.push_back(event_of(item));
    } else if (const auto row = find_row(item)) {
      for (Event& event : events_of(*row)) {
        event.id.reset();
        step.events.push_back(std::move(event));
      }
    }
  }
  last_event_ = live.last;
  step.more = live.more;
  return step;
}

std::optional<InboxRow> AllEvents::find_row(const LiveEvent& item) {
  InboxQuery query;
  query.above_seq = item.seq - 1;
  query.below_seq = item.seq + 1;
  auto rows = store_.read_inbox(item.workspace, query);
  if (!rows || rows->empty()) return std::nullopt;
  return std::move(rows->front());
}

Result<std::shared_ptr<WorkspaceEvents>> Events::follow(const Principal& caller, WorkspaceId workspace,
                                                        std::optional<std::string_view> last_event_id) {
  auto stream = std::make_shared<WorkspaceEvents>(store_, event_bus_, principals_, caller, workspace);
  if (const auto begun = stream->begin(last_event_id); !begun) return begun.error();
  return stream;
}

std::shared_ptr<AllEvents> Events::follow_all(const Principal& caller) {
  return std::make_shared<AllEvents>(store_, event_bus_, principals_, caller);
}

}  // namespace restante::desk
