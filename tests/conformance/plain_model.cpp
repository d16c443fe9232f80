#include "plain_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace restante::testing {
namespace {

std::string show(std::optional<Time> time) { return time ? format_time(*time) : "-"; }
template <class Tag>
std::string show(std::optional<Id<Tag>> id) {
  return id ? id->text() : "-";
}

// The store's own row ids are compared by seq; the model learns the ids of receipts only by reading.
bool matches(const InboxRow& row, const InboxQuery& query) {
  if (query.not_before && row.created_at < *query.not_before) return false;
  if (query.before && row.created_at >= *query.before) return false;
  if (query.below_seq && row.seq >= *query.below_seq) return false;
  if (query.chat_only && !is_chat(row)) return false;
  const auto& kind = query.type == "chat_upload_receive" ? row.method : row.activity_type;
  if (!query.type.empty() && kind != query.type) return false;
  if (query.source == InboxQuery::Source::canvas && row.source_id) return false;
  if (query.source == InboxQuery::Source::agent && !row.source_id) return false;
  return !query.peer || row.source_id == query.peer || row.target_id == query.peer;
}

}  // namespace

std::string show(const Workspace& w) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", w.id.text(), w.name, w.role, show(w.parent_id),
                     name_of(w.delivery_mode), w.url, w.agent_card, name_of(w.status), show(w.last_heartbeat_at),
                     show(w.last_poll_at), w.current_task, w.active_tasks, w.uptime_seconds, w.last_error_rate,
                     format_time(w.created_at), format_time(w.updated_at));
}

std::string show(const Token& t) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", t.id.text(), name_of(t.kind), show(t.workspace_id), t.prefix,
                     t.label, format_time(t.created_at), show(t.last_used_at), show(t.expires_at), show(t.revoked_at));
}

std::string show(const InboxRow& a) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", a.workspace_id.text(), a.seq, a.activity_type,
                     show(a.source_id), show(a.target_id), a.method, a.summary, a.request_body, a.response_body,
                     a.status, a.error_detail, a.duration_ms.value_or(-1), format_time(a.created_at), a.message_id);
}

std::string PlainModel::living(WorkspaceId id) const { return workspaces.contains(id) ? "" : "workspace_not_found"; }

std::string PlainModel::create(const Workspace& workspace) {
  if (workspaces.contains(workspace.id)) return "workspace_exists";
  const auto& parent = workspace.parent_id;
  if (parent && (*parent == workspace.id || !workspaces.contains(*parent))) return "bad_parent";
  workspaces.emplace(workspace.id, workspace);
  return "";
}

std::pair<std::string, bool> PlainModel::register_agent(const CheckedRegistration& entry, Time now) {
  const bool there = workspaces.contains(entry.id);
  if (there || !entry.create_as) {
    if (auto error = living(entry.id); !error.empty()) return {error, false};
    if (entry.create_as && entry.enrolment) return {"workspace_exists", false};
  }
  const auto mode = entry.delivery_mode.value_or(there               ? workspaces.at(entry.id).delivery_mode
                                                 : entry.url.empty() ? DeliveryMode::poll
                                                                     : DeliveryMode::push);
  const bool stays = there && !entry.delivery_mode && entry.url.empty();
  const std::string url = stays ? workspaces.at(entry.id).url : entry.url;
  if (mode == DeliveryMode::push && url.empty()) return {"bad_field", false};
  const bool live = has_live_token(entry.id, now);
  if (entry.first_only && live) return {"invalid_token", false};
  const bool given = entry.token && (entry.enrolment || !live);
  if (given && entry.enrolment && !redeem(*entry.enrolment, entry.id, now)) return {"invalid_token", false};
  auto& workspace = workspaces[entry.id];
  if (!there) {
    workspace.id = entry.id;
    workspace.name = *entry.create_as;
    workspace.created_at = now;
  }
  workspace.delivery_mode = mode;
  workspace.url = url;
  if (!entry.agent_card.empty()) workspace.agent_card = entry.agent_card;
  workspace.last_heartbeat_at = workspace.updated_at = now;
  if (workspace.status != WorkspaceStatus::degraded) workspace.status = WorkspaceStatus::online;
  return {"", given};
}

std::string PlainModel::beat(WorkspaceId id, const Heartbeat& heartbeat, Time now) {
  if (auto error = living(id); !error.empty()) return error;
  auto& workspace = workspaces[id];
  const double rate = heartbeat.error_rate.value_or(0.3);
  if (rate >= 0.5) {
    workspace.status = WorkspaceStatus::degraded;
  } else if (rate < 0.1 || workspace.status != WorkspaceStatus::degraded) {
    workspace.status = WorkspaceStatus::online;
  }
  if (heartbeat.error_rate) workspace.last_error_rate = rate;
  workspace.current_task = heartbeat.current_task;
  workspace.active_tasks = heartbeat.active_tasks;
  workspace.uptime_seconds = heartbeat.uptime_seconds;
  workspace.last_heartbeat_at = workspace.updated_at = now;
  return "";
}

void PlainModel::poll(WorkspaceId id, Time now) {
  const auto found = workspaces.find(id);
  if (found == workspaces.end()) return;
  auto& workspace = found->second;
  workspace.last_poll_at = std::max(workspace.last_poll_at.value_or(now), now);
  if (workspace.status != WorkspaceStatus::degraded) workspace.status = WorkspaceStatus::online;
}

std::string PlainModel::find(WorkspaceId id) const {
  return workspaces.contains(id) ? show(workspaces.at(id)) : "workspace_not_found";
}

std::string PlainModel::list() const {
  std::vector<Workspace> all;
  for (const auto& [id, workspace] : workspaces) all.push_back(workspace);
  std::ranges::sort(all, {}, [](const Workspace& w) { return std::pair(w.created_at, w.id); });
  return show(all);
}

bool PlainModel::revoke(TokenId id, Time now) {
  for (auto& [token, hash] : tokens) {
    if (token.id != id) continue;
    const bool live = token.live(now);
    if (!token.revoked_at) token.revoked_at = now;
    return live;
  }
  return false;
}

bool PlainModel::redeem(TokenId enrolment, WorkspaceId workspace, Time now) {
  for (const auto& [held, hash] : tokens) {
    if (held.id != enrolment || held.kind != TokenKind::enrolment || !held.live(now)) continue;
    if (held.workspace_id && held.workspace_id != workspace) continue;
    revoke(enrolment, now);
    return true;
  }
  return false;
}

std::string PlainModel::find(const Digest& hash) const {
  const auto found = std::ranges::find(tokens, hash, &std::pair<Token, Digest>::second);
  return found == tokens.end() ? "none" : show(found->first);
}

std::string PlainModel::list(std::optional<WorkspaceId> workspace) const {
  std::vector<Token> all;
  for (const auto& [token, hash] : tokens) {
    if (token.workspace_id == workspace) all.push_back(token);
  }
  std::ranges::sort(all, std::greater{}, [](const Token& t) { return std::pair(t.created_at, t.id); });
  return show(all);
}

bool PlainModel::has_live_token(WorkspaceId workspace, Time now) const {
  return std::ranges::any_of(tokens, [&](const auto& held) {
    return held.first.workspace_id == workspace && held.first.kind == TokenKind::workspace && held.first.live(now);
  });
}

void PlainModel::push(WorkspaceId workspace, const NewInboxRow& activity, InboxRowId id, Time now) {
  auto& inbox = inboxes[workspace];
  inbox.push_back({activity, id, workspace, std::ssize(inbox) + 1, tick(workspace, now)});
}

std::string PlainModel::append(WorkspaceId workspace, const NewInboxRow& activity, Time now, const Appended& answered) {
  if (auto error = living(workspace); !error.empty()) return error;
  for (const auto& row : inboxes[workspace]) {
    if (!activity.message_id.empty() && row.message_id == activity.message_id && row.source_id == activity.source_id &&
        row.request_body == activity.request_body) {
      return fmt::format("{} {}", row.id.text(), row.seq);
    }
  }
  push(workspace, activity, answered.id, now);
  return fmt::format("{} {}", answered.id.text(), inboxes[workspace].back().seq);
}

std::string PlainModel::read(WorkspaceId workspace, const InboxQuery& query) const {
  const auto found = inboxes.find(workspace);
  std::vector<InboxRow> inbox = found == inboxes.end() ? std::vector<InboxRow>() : found->second;
  std::int64_t after = query.since_seq.value_or(0);
  if (query.since_id) {
    const auto row = std::ranges::find(inbox, *query.since_id, &InboxRow::id);
    after = row == inbox.end() ? -1 : row->seq;
  }
  if (after < 0 || after > std::ssize(inbox)) return "cursor_gone";
  if (query.above_seq) after = *query.above_seq;
  if (!query.since_id && !query.since_seq && !query.above_seq) std::ranges::reverse(inbox);
  std::vector<InboxRow> page;
  std::size_t bytes = 0;
  for (const auto& row : inbox) {
    if (row.seq <= after || !matches(row, query)) continue;
    bytes += row.request_body.size() + row.response_body.size();
    if (std::ssize(page) >= query.limit || (!page.empty() && bytes > query.max_bytes)) break;
    page.push_back(row);
  }
  return show(page);
}

}  // namespace restante::testing
