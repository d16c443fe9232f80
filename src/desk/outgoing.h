// Outgoing: files an agent has staged itself and then names in what it sends. To another agent they go with the
// message, in one transaction: each is staged for the target under a name of its own, sharing the bytes. To people they
// stay where they are, and must be there. Thread-safe.
#pragma once
#include <functional>
#include <vector>

#include "base/json.h"
#include "desk/messages.h"
#include "desk/uploads.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

// The outgoing files that the message names, which from now on names them as the target will know them. Only agents
// have such files; what people name and what the target has already stays as it is. In what an agent says to itself
// both are called alike: `is_outgoing` tells them apart. attachment_gone when an agent names a file of anybody else.
using IsOutgoing = std::function<bool(FileId)>;
Result<std::vector<OutgoingFile>> address_files(const Principal& caller, WorkspaceId target, Envelope& envelope,
                                                Time now, const IsOutgoing& is_outgoing = {});

class Outgoing {
 public:
  Outgoing(Store& store, Uploads& uploads, Messages& messages, const Clock& clock)
      : store_(store), uploads_(uploads), messages_(messages), clock_(clock) {}

  // The row and the files it names, into the target's log. attachment_gone, quota_exceeded.
  Commit<Result<SentMessage>> send(WorkspaceId target, const NewInboxRow& row, std::vector<OutgoingFile> files);
  Commit<Result<Claimed<SentMessage>>> send_once(WorkspaceId target, const NewInboxRow& row,
                                                 std::vector<OutgoingFile> files, const Claim& claim,
                                                 Render<SentMessage> render);
  // Of the file parts an agent shows its people: those that lie with us are its own and can still be read.
  // attachment_gone.
  Result<void> check_shown(WorkspaceId workspace, const Json::Array& parts);

 private:
  StagingTerms terms(Time now) const;

  Store& store_;
  Uploads& uploads_;
  Messages& messages_;
  const Clock& clock_;
};

}  // namespace restante::desk
