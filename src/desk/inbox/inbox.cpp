#include "desk/inbox/inbox.h"

#include <algorithm>
#include <utility>

#include "desk/uploads/uploads.h"
#include "desk/workspaces/workspaces.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kUsualLimit = 100;
constexpr int kMaxLimit = 500;
constexpr std::size_t kMaxFiles = 1000;  // twice a full page of rows with one file each
constexpr std::string_view kUnknown = "unknown";

}  // namespace

std::optional<Peer> PeerInfo::peer_of(const InboxRow& row) {
  if (!row.source_id) return std::nullopt;
  const auto [known, fresh] = peers_.try_emplace(*row.source_id);
  if (!fresh) return known->second;
  auto found = store_.find_workspace(*row.source_id);
  if (found && found->status != WorkspaceStatus::removed) known->second = Peer{found->name, found->role};
  return known->second;
}

std::vector<Attachment> PeerInfo::attachments_of(const InboxRow& row) {
  std::vector<FilePart> files;
  if (auto upload = upload_in(row)) files.push_back(std::move(*upload));
  for (MessageContent content : {request_content(row), response_content(row)}) {
    for (FilePart& file : content.files) files.push_back(std::move(file));
  }
  std::vector<Attachment> all;
  for (FilePart& file : files) {
    const std::string_view state = state_of(file.uri, row.workspace_id);
    all.push_back({std::move(file), state});
  }
  return all;
}

std::string_view PeerInfo::state_of(std::string_view uri, WorkspaceId workspace) {
  const auto id = file_of(uri, workspace);
  if (!id) return kUnknown;
  if (const auto known = states_.find(*id); known != states_.end()) return known->second;
  if (states_.size() >= kMaxFiles) return kUnknown;
  const auto upload_status = store_.find_upload_status(workspace, *id, now_);
  const bool shown = upload_status && may_see(caller_, upload_status->upload);
  const std::string_view state = shown ? name_of(upload_status->state) : kUnknown;
  states_.emplace(*id, state);
  return state;
}

Result<void> Inbox::check(WorkspaceId workspace) {
  const auto found = store_.find_delivery(workspace);
  if (!found) return found.error();
  return {};
}

Result<std::shared_ptr<const void>> Inbox::begin_read(const Principal& caller, WorkspaceId workspace) {
  if (const auto there = check(workspace); !there) return there.error();
  if (!caller.is_agent_of(workspace)) return std::shared_ptr<const void>();
  return presence_.poll(workspace);
}

bool may_be_appended(std::string_view activity_type) {
  static constexpr std::string_view kKinds[] = {"a2a_send",        "a2a_receive",  "task_update", "agent_log",
                                                "skill_promotion", "memory_write", "error"};
  return std::find(std::begin(kKinds), std::end(kKinds), activity_type) != std::end(kKinds);
}

Commit<Result<Appended>> Inbox::append_own_row(WorkspaceId workspace, const NewInboxRow& row,
                                               OptionalClaim<Appended> claim) {
  auto commit = store_.append_to_inbox(workspace, row, clock_.now(), std::move(claim));
  commit.then([&event_bus = event_bus_, workspace](const Result<Appended>& at) {
    if (at && !at->repeated) event_bus.appended(workspace, *at);
  });
  return commit;
}

Result<std::vector<InboxRow>> InboxReading::next() {
  auto rows = query_.filters() ? search_.next() : store_.read_inbox(workspace_, query_);
  if (rows && std::exchange(acks_, false)) presence_.acked(workspace_, query_);
  return rows;
}

std::shared_ptr<InboxReading> Inbox::reading(const Principal& caller, WorkspaceId workspace, InboxQuery query) {
  query.chat_only = caller.sees_chat_only();
  query.limit = query.limit <= 0 ? kUsualLimit : std::min(query.limit, kMaxLimit);
  return std::shared_ptr<InboxReading>(new InboxReading(store_, gaps_, presence_, caller, workspace, query));
}

Result<std::vector<InboxRow>> Inbox::read(const Principal& caller, WorkspaceId workspace, const InboxQuery& query) {
  const auto reading = this->reading(caller, workspace, query);
  for (;;) {
    auto rows = reading->next();
    if (!rows || !rows->empty() || !reading->unfinished()) return rows;
  }
}

std::int64_t Inbox::waiting_messages(WorkspaceId workspace) {
  const auto head = store_.find_head(workspace);
  if (!head) return 0;
  const std::int64_t handled = std::max(head->acked_seq, presence_.acked_seq(workspace));
  if (handled >= head->last_seq) return 0;
  InboxQuery query;
  query.above_seq = handled;
  query.type = "a2a_receive";
  query.limit = kMaxLimit;
  const auto count = [&](const InboxQuery& after) -> std::int64_t {
    InboxSearch search(store_, gaps_, workspace, after);
    for (;;) {
      const auto rows = search.next();
      if (!rows) return 0;
      if (rows->empty() && search.unfinished()) continue;
      return std::ranges::count_if(*rows, [](const InboxRow& row) { return row.method == "message/send"; });
    }
  };
  const std::int64_t by_number = count(query);
  query.since_id = by_number > 0 ? presence_.acked_id(workspace) : std::nullopt;
  if (!query.since_id) return by_number;
  query.above_seq.reset();
  return std::min(by_number, count(query));
}

}  // namespace restante::desk
