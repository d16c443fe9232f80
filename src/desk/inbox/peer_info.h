// PeerInfo finds the sender of an inbox row and the state of the files that it names, for one page of rows. It looks up
// each thing once, and only a bounded number for each page: beyond that a file's state is "unknown". Belongs to one
// request.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "desk/inbox/message_content.h"
#include "store/store.h"

namespace restante::desk {

struct Peer {
  std::string name;
  std::string role;
};

struct Attachment {
  FilePart file;
  std::string_view state;  // an upload's, or "unknown" if it is not stored here
};

class PeerInfo {
 public:
  PeerInfo(Store& store, Time now) : store_(store), now_(now) {}

  // The workspace the row came from; none for people and for a removed workspace.
  std::optional<Peer> peer_of(const InboxRow& row);
  std::vector<Attachment> attachments_of(const InboxRow& row);

 private:
  std::string_view state_of(std::string_view uri, WorkspaceId workspace);

  Store& store_;
  const Time now_;
  std::unordered_map<WorkspaceId, std::optional<Peer>> peers_;
  std::unordered_map<FileId, std::string_view> states_;
};

}  // namespace restante::desk
