#include "desk/inbox/chat_history.h"

#include <algorithm>
#include <unordered_set>

#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kUsualLimit = 100;
constexpr int kMaxLimit = 500;
constexpr int kStepRows = 100;
// A file's row usually comes shortly before the message that names it, and that message may be on the newer page. This
// saves a read for each such file, and messages of 0.1.0 have no keys by which it could be found.
constexpr int kLookAhead = 200;
constexpr int kLookAheadRows = 1000;
constexpr std::size_t kPageBytes = 1 << 20;
// Messages with the same timestamp stay on one page. The limits apply if a clock was set back and very many have the
// same.
constexpr std::size_t kMaxTogether = 500;
constexpr std::size_t kMaxBytes = 8 << 20;

InboxQuery messages_before(std::optional<Time> before) {
  InboxQuery query;
  query.before = before;
  query.chat_only = true;
  query.no_receipts = true;
  query.limit = kStepRows;
  return query;
}

}  // namespace

class ChatReading::Page {
 public:
  Page(WorkspaceId workspace, int limit) : workspace_(workspace), limit_(static_cast<std::size_t>(limit)) {}

  // A message row of a newer page: its files are not shown again.
  void remember_files(const InboxRow& row) {
    remember_files(request_content(row), named_by_people_);
    remember_files(response_content(row), named_by_agent_);
  }

  // The files of these rows that a message names which is on no page yet: it came much later.
  void look_up_files(InboxStore& store, const std::vector<InboxRow>& rows) {
    std::vector<FileId> any;
    std::vector<FileId> agents;
    for (const InboxRow& row : rows) {
      const auto file = row.method == "chat_upload_receive" ? upload_in(row) : std::nullopt;
      if (!file) continue;
      const FileId id = *file_of(file->uri, workspace_);
      if (is_shown_elsewhere(row, id)) continue;
      any.push_back(id);
      if (is_agents_upload(row)) agents.push_back(id);
    }
    for (const FileId& id : store.find_named_files(workspace_, NamedBy::person, any)) named_by_people_.insert(id);
    for (const FileId& id : store.find_named_files(workspace_, NamedBy::agent, agents)) named_by_agent_.insert(id);
  }

  // Rows newest first. False when the page is full and this row is not on it.
  bool take(const InboxRow& row) {
    std::vector<ChatMessage> found = messages_of(row);
    if (found.empty()) return true;
    if (full_for(row)) return false;
    for (auto message = found.rbegin(); message != found.rend(); ++message) {
      bytes_ += message->content.size();
      for (const FilePart& file : message->attachments) bytes_ += file.uri.size() + file.name.size();
      messages_.push_back(std::move(*message));
    }
    return true;
  }

  std::vector<ChatMessage> finish() {
    std::ranges::reverse(messages_);
    return std::move(messages_);
  }

 private:
  bool full_for(const InboxRow& row) const {
    if (messages_.size() < limit_ && bytes_ < kPageBytes) return false;
    const bool other_moment = messages_.back().timestamp != row.created_at;
    return other_moment || messages_.size() >= limit_ + kMaxTogether || bytes_ >= kMaxBytes;
  }

  void remember_files(const MessageContent& content, std::unordered_set<FileId>& named) const {
    for (const FilePart& file : content.files) {
      if (const auto id = file_of(file.uri, workspace_)) named.insert(*id);
    }
  }

  // Whether a message names the file of this upload's row, so that it is shown there. The agent may also name a file of
  // a person: that stays the person's.
  bool is_shown_elsewhere(const InboxRow& row, FileId id) const {
    return named_by_people_.contains(id) || (named_by_agent_.contains(id) && is_agents_upload(row));
  }

  // The messages of this row, in order.
  std::vector<ChatMessage> messages_of(const InboxRow& row) {
    const auto message = [&row](std::string_view suffix, ChatMessage::Role role, MessageContent content) {
      return ChatMessage{row.id.text() + std::string(suffix), role, std::move(content.text), std::move(content.files),
                         row.created_at};
    };
    std::vector<ChatMessage> all;
    if (row.method == "notify") {
      MessageContent content = response_content(row);
      remember_files(content, named_by_agent_);
      all.push_back(message("", ChatMessage::Role::agent, std::move(content)));
    } else if (row.method == "message/send") {
      MessageContent request = request_content(row);
      remember_files(request, named_by_people_);
      all.push_back(message("", ChatMessage::Role::user, std::move(request)));
      MessageContent response = response_content(row);
      remember_files(response, named_by_agent_);
      if (!response.nothing()) all.push_back(message(":reply", ChatMessage::Role::agent, std::move(response)));
    } else if (auto file = upload_in(row); file && !is_shown_elsewhere(row, *file_of(file->uri, workspace_))) {
      all.push_back(message("", ChatMessage::Role::user, {{}, {std::move(*file)}}));
    }
    return all;
  }

  const WorkspaceId workspace_;
  const std::size_t limit_;
  std::unordered_set<FileId> named_by_people_;
  std::unordered_set<FileId> named_by_agent_;
  std::vector<ChatMessage> messages_;  // newest first
  std::size_t bytes_ = 0;
};

ChatReading::ChatReading(Store& store, InboxGaps& gaps, WorkspaceId workspace, int limit, std::optional<Time> before)
    : store_(store),
      search_(store, gaps, workspace, messages_before(before)),
      page_(std::make_unique<Page>(workspace, limit)) {
  if (!before) return;
  InboxQuery ahead;
  ahead.above_seq = 0;
  ahead.not_before = before;
  ahead.chat_only = true;
  ahead.limit = kLookAhead;
  const auto step = store.search_inbox(workspace, ahead, kLookAheadRows);
  if (!step) return;
  for (const InboxRow& row : step->rows) page_->remember_files(row);
}

ChatReading::~ChatReading() = default;

std::optional<Result<ChatPage>> ChatReading::next() {
  for (;;) {
    const auto rows = search_.next();
    if (!rows) return rows.error();
    if (rows->empty() && search_.unfinished()) return std::nullopt;
    if (rows->empty()) return ChatPage{page_->finish(), true};
    page_->look_up_files(store_, *rows);
    for (const InboxRow& row : *rows) {
      if (!page_->take(row)) return ChatPage{page_->finish(), false};
    }
    search_.pass(*rows);
  }
}

Result<std::shared_ptr<ChatReading>> ChatHistory::reading(WorkspaceId workspace, int limit,
                                                          std::optional<Time> before) {
  const auto found = store_.find_workspace(workspace);
  if (!found) return found.error();
  if (found->status == WorkspaceStatus::removed) return errors::workspace_removed;
  const int clamped = limit <= 0 ? kUsualLimit : std::min(limit, kMaxLimit);
  return std::make_shared<ChatReading>(store_, gaps_, workspace, clamped, before);
}

Result<ChatPage> ChatHistory::read(WorkspaceId workspace, int limit, std::optional<Time> before) {
  const auto begun = reading(workspace, limit, before);
  if (!begun) return begun.error();
  for (;;) {
    if (auto page = (*begun)->next()) return std::move(*page);
  }
}

}  // namespace restante::desk
