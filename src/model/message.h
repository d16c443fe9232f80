// Message: a row that will be appended to an inbox, with everything that can be computed before the writer runs. Values
// only.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/crypto.h"
#include "model/inbox_row.h"
#include "model/upload.h"

namespace restante {

struct Message {
  // The digest of a message with files is computed from the source ids of the files, not from the new ids: these differ
  // when the message is repeated.
  Message(const NewInboxRow& row, WorkspaceId workspace, std::span<const OutgoingFile> files, Time now);
  std::size_t bytes() const { return activity.request_body.size() + activity.response_body.size(); }

  NewInboxRow activity;
  InboxRowId id;
  std::optional<Digest> digest;  // the same for repeated messages; none without a message id
  std::vector<Digest> named;     // the keys of the files that it names
};

}  // namespace restante
