// Message: a row that is about to be appended to a log, with what can be computed before a writer's turn. Values only.
#pragma once
#include <optional>
#include <span>

#include "base/crypto.h"
#include "model/inbox_row.h"
#include "model/upload.h"

namespace restante {

struct Message {
  // Of a message that names files, a repeat is told by what it named before they were given new ids.
  Message(const NewInboxRow& new_activity, WorkspaceId workspace, std::span<const OutgoingFile> files, Time now);
  std::size_t bytes() const { return activity.request_body.size() + activity.response_body.size(); }

  NewInboxRow activity;
  InboxRowId id;
  std::optional<Digest> digest;  // what makes two messages the same one; none when it carries no message id
};

}  // namespace restante
