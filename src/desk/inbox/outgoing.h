// Outgoing sends files that an agent has staged and then names in a message. For another agent the files are sent with
// the message, in one transaction: each is staged for the target under a new id and shares the blob. For people the
// files stay where they are; they must exist. Thread-safe.
#pragma once
#include <functional>
#include <vector>

#include "base/json.h"
#include "desk/inbox/messages.h"
#include "desk/uploads/uploads.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

// Returns the outgoing files that the message names, and changes the message so that it names them by the target's ids.
// Only agents have outgoing files. Files that people name, and files that the target has already, stay as they are. In
// a message of an agent to itself both have the same uri; `is_outgoing` distinguishes them. attachment_gone when an
// agent names a file of another workspace.
using IsOutgoing = std::function<bool(FileId)>;
Result<std::vector<OutgoingFile>> address_files(const Principal& caller, WorkspaceId target, Envelope& envelope,
                                                Time now, const IsOutgoing& is_outgoing = {});

class Outgoing {
 public:
  Outgoing(Store& store, Uploads& uploads, Messages& messages, const Clock& clock)
      : store_(store), uploads_(uploads), messages_(messages), clock_(clock) {}

  // Appends the row and stages the files it names for the target. attachment_gone, quota_exceeded.
  Commit<Result<SentMessage>> send(WorkspaceId target, const NewInboxRow& row, std::vector<OutgoingFile> files,
                                   OptionalClaim<SentMessage> claim = {});
  // For the file parts that an agent shows its people: files on this server must be the agent's own and still readable.
  // attachment_gone.
  Result<void> check_shown(WorkspaceId workspace, const Json::Array& parts);

 private:
  StagingTerms terms() const;

  Store& store_;
  Uploads& uploads_;
  Messages& messages_;
  const Clock& clock_;
};

}  // namespace restante::desk
