// ChatHistory reads the chat between a workspace's people and its agent from the inbox. Messages between agents are not
// part of it. It reads in bounded steps and holds no database connection between them. Thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "desk/inbox/message_content.h"
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

class ChatHistory {
 public:
  explicit ChatHistory(Store& store) : store_(store) {}

  // The newest messages before `before`. The limit is clamped to 1 … 500; 0 and less mean the default of 100. A page is
  // also cut at 1 MiB. Messages with the same timestamp stay on one page, so that the oldest timestamp leads to the
  // next page. A file that a message names is its attachment; a file that no message names is a separate message.
  // workspace_not_found, workspace_removed.
  Result<ChatPage> read(WorkspaceId workspace, int limit, std::optional<Time> before);

 private:
  Store& store_;
};

}  // namespace restante::desk
