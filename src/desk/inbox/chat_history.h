// ChatHistory reads the chat between a workspace's people and its agent from the inbox. Messages between agents are not
// part of it. It reads in bounded steps and holds no database connection between them. Thread-safe; a ChatReading
// belongs to one request.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/inbox/message_content.h"
#include "desk/inbox/search.h"
#include "store/store.h"

namespace restante::desk {

struct ChatMessage {
  enum class Role { user, agent };
  std::string id;  // the row's id; the answer in the same row has a suffix
  Role role = Role::user;
  std::string content;
  std::vector<FilePart> attachments;
  Time timestamp;
};

struct ChatPage {
  std::vector<ChatMessage> messages;  // oldest first
  bool reached_end = false;           // there is nothing older
};

class ChatReading {
 public:
  ChatReading(Store& store, InboxGaps& gaps, WorkspaceId workspace, int limit, std::optional<Time> before);
  ~ChatReading();
  ChatReading(const ChatReading&) = delete;
  ChatReading& operator=(const ChatReading&) = delete;

  // The page; none if there are rows left to look at before it is known.
  std::optional<Result<ChatPage>> next();

 private:
  class Page;

  InboxStore& store_;
  InboxSearch search_;
  std::unique_ptr<Page> page_;
};

class ChatHistory {
 public:
  explicit ChatHistory(Store& store) : store_(store) {}

  // The newest messages before `before`. The limit is clamped to 1 … 500; 0 and less mean the default of 100. A page is
  // also cut at 1 MiB. Messages with the same timestamp stay on one page, so that the oldest timestamp leads to the
  // next page. A file that a person's message names is its attachment, and so is a file that the agent staged and then
  // named in a message; any other file is a separate message of a person.
  // workspace_not_found, workspace_removed.
  Result<std::shared_ptr<ChatReading>> reading(WorkspaceId workspace, int limit, std::optional<Time> before);
  // All steps at once.
  Result<ChatPage> read(WorkspaceId workspace, int limit, std::optional<Time> before);
  // As in Inbox.
  void forget_gaps() { gaps_.forget(); }

 private:
  Store& store_;
  InboxGaps gaps_;
};

}  // namespace restante::desk
