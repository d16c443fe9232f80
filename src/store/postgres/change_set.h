// News: what one transaction has to tell the other servers on the same database. Gathered by its verbs, sent with its
// COMMIT by NOTIFY, and never without it. Written as short lines of text, of which PostgreSQL takes up to 8000 bytes at
// a time. Values only.
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
  // Rows of a log, from the first to the last.
  std::map<WorkspaceId, std::pair<std::int64_t, std::int64_t>> appended;
  std::set<WorkspaceId> changed;
  std::set<WorkspaceId> pruned;  // a cursor may have lost its row
  std::set<TokenId> revoked;

  void append(WorkspaceId workspace, std::int64_t seq) {
    appended.try_emplace(workspace, seq, seq).first->second.second = seq;
  }
  // As many texts as it takes; none when there is nothing to tell. Each says whose they are.
  std::vector<std::string> texts(const Uuid& instance) const;
};

// The same for what no transaction changed. Empty when it is too long to be told.
std::string text_of(const Uuid& instance, const TransientEvent& event);
// Somebody on this server looks on and wants to hear what happens.
std::string interest_text(const Uuid& instance);

// What a text says that the transaction of any server did.
ChangeSet change_set_of(std::string_view text);
// Tells a listener what a text says, unless it is this server's own or none of ours. True: somebody looks on there.
bool read_text(std::string_view text, const Uuid& instance, Announcements& to);

}  // namespace restante::postgres
