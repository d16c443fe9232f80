// ChangeSet is what one transaction changed and other servers on the same database must know. The transaction's verbs
// collect it; NOTIFY sends it with the COMMIT, and never without it. It is sent as short lines of text, because
// PostgreSQL takes at most 8000 bytes in one notification. Values only.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "store/announcements.h"

namespace restante::postgres {

inline constexpr std::string_view kChannel = "restante";

struct ChangeSet {
  // Rows of an inbox: the first and the last number.
  std::map<WorkspaceId, std::pair<std::int64_t, std::int64_t>> appended;
  std::set<WorkspaceId> changed;
  std::set<WorkspaceId> pruned;  // a cursor may have lost its row
  std::set<TokenId> revoked;

  void append(WorkspaceId workspace, std::int64_t seq) {
    appended.try_emplace(workspace, seq, seq).first->second.second = seq;
  }
  // As many texts as are needed; none when nothing changed. Each begins with the id of the server that sends it.
  std::vector<std::string> texts(const Uuid& instance) const;
};

// The same for an event that no transaction stored. Empty when it is too long for a notification.
std::string text_of(const Uuid& instance, const TransientEvent& event);
// Announces that this server has subscribers for events of other servers.
std::string interest_text(const Uuid& instance);

// Reads the changes from the text of any server.
ChangeSet change_set_of(std::string_view text);
// Passes the content of a text to the subscriber, unless the text comes from this server or is not ours. True: the
// sender has subscribers for events.
bool read_text(std::string_view text, const Uuid& instance, Announcements& to);

}  // namespace restante::postgres
