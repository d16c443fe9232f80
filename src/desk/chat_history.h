// ChatHistory: what the people of a workspace and its agent said to each other, out of the log. Messages between agents
// are not part of it. Reads in bounded steps and holds no connection in between. Thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "desk/message_content.h"
#include "store/store.h"

namespace restante::desk {

struct ChatMessage {
  enum class Role { user, agent };
  std::string id;  // the row's; with a suffix for the answer that came in the same row
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

  // The newest messages before that moment. The limit is brought into 1 … 500, where 0 and below ask for the usual 100;
  // a page is also cut at 1 MiB. Messages of the same moment stay together, so that the oldest timestamp leads to the
  // next page. A file that a message names is its attachment; one that none names is a message of its own.
  // workspace_not_found, workspace_removed.
  Result<ChatPage> read(WorkspaceId workspace, int limit, std::optional<Time> before);

 private:
  Store& store_;
};

}  // namespace restante::desk
