#include "desk/inbox/chat_history.h"

#include <algorithm>
#include <unordered_set>

#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kUsualLimit = 100;
constexpr int kMaxLimit = 500;
constexpr int kStepRows = 100;
// A file's row comes shortly before the message that names it, and that message may be on the newer page.
constexpr int kLookAhead = 200;
constexpr std::size_t kPageBytes = 1 << 20;
// Messages with the same timestamp stay on one page. The limits apply if a clock was set back and very many have the
// same.
constexpr std::size_t kMaxTogether = 500;
constexpr std::size_t kMaxBytes = 8 << 20;

class PageMaker {
 public:
  PageMaker(WorkspaceId workspace, int limit) : workspace_(workspace), limit_(static_cast<std::size_t>(limit)) {}

  // A message row of a newer page: its files are not shown again.
  void remember_files(const InboxRow& row) { remember_files(request_content(row)); }

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

  void remember_files(const MessageContent& content) {
    for (const FilePart& file : content.files) {
      if (const auto id = file_of(file.uri, workspace_)) named_.insert(*id);
    }
  }

  // The messages of this row, in order.
  std::vector<ChatMessage> messages_of(const InboxRow& row) {
    const auto message = [&row](std::string_view suffix, ChatMessage::Role role, MessageContent content) {
      return ChatMessage{row.id.text() + std::string(suffix), role, std::move(content.text), std::move(content.files),
                         row.created_at};
    };
    std::vector<ChatMessage> all;
    if (row.activity_type == "upload_receipt") return all;
    if (row.method == "notify") {
      all.push_back(message("", ChatMessage::Role::agent, response_content(row)));
    } else if (row.method == "message/send") {
      MessageContent request = request_content(row);
      remember_files(request);
      all.push_back(message("", ChatMessage::Role::user, std::move(request)));
      MessageContent response = response_content(row);
      if (!response.nothing()) all.push_back(message(":reply", ChatMessage::Role::agent, std::move(response)));
    } else if (auto file = upload_in(row); file && !named_.contains(*file_of(file->uri, workspace_))) {
      all.push_back(message("", ChatMessage::Role::user, {{}, {std::move(*file)}}));
    }
    return all;
  }

  const WorkspaceId workspace_;
  const std::size_t limit_;
  std::unordered_set<FileId> named_;
  std::vector<ChatMessage> messages_;  // newest first
  std::size_t bytes_ = 0;
};

void look_ahead(Store& store, WorkspaceId workspace, Time from, PageMaker& page) {
  InboxQuery query;
  query.above_seq = 0;
  query.not_before = from;
  query.chat_only = true;
  query.limit = kLookAhead;
  const auto rows = store.read_inbox(workspace, query);
  if (!rows) return;
  for (const InboxRow& row : *rows) page.remember_files(row);
}

}  // namespace

Result<ChatPage> ChatHistory::read(WorkspaceId workspace, int limit, std::optional<Time> before) {
  const auto found = store_.find_workspace(workspace);
  if (!found) return found.error();
  if (found->status == WorkspaceStatus::removed) return errors::workspace_removed;
  PageMaker page(workspace, limit <= 0 ? kUsualLimit : std::min(limit, kMaxLimit));
  if (before) look_ahead(store_, workspace, *before, page);
  InboxQuery query;
  query.before = before;
  query.chat_only = true;
  query.limit = kStepRows;
  for (;;) {
    const auto rows = store_.read_inbox(workspace, query);
    if (!rows) return rows.error();
    if (rows->empty()) return ChatPage{page.finish(), true};
    for (const InboxRow& row : *rows) {
      if (!page.take(row)) return ChatPage{page.finish(), false};
    }
    query.below_seq = rows->back().seq;
  }
}

}  // namespace restante::desk
