// All kinds of ids. Each is a separate type, so that one is never taken for another.
#pragma once
#include "base/uuid.h"

namespace restante {

using WorkspaceId = Id<struct WorkspaceTag>;
using TokenId = Id<struct TokenTag>;
using InboxRowId = Id<struct InboxRowTag>;
using FileId = Id<struct FileTag>;

}  // namespace restante
