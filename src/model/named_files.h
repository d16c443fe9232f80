// NamedFiles: which files of a workspace a chat row names in its file parts. A file that a message names is shown there
// and not as a message of its own, however far the two rows are apart. So a named file gets a key beside the row
// (table message_keys), by which it is found without reading the inbox. Pure.
#pragma once
#include <string_view>
#include <vector>

#include "base/crypto.h"
#include "model/inbox_row.h"
#include "model/upload.h"

namespace restante {

// A person names files in the request of a row, the agent in its response.
enum class NamedBy { person, agent };

// The keys of all files that the row names; none unless it is a message of a chat.
std::vector<Digest> named_keys_of(const NewInboxRow& row, WorkspaceId workspace);
// Unlike every digest of a message.
Digest named_key(NamedBy by, FileId file);

}  // namespace restante
