// The ids of the platform. Each is its own type, so that one is never taken for another.
#pragma once
#include "base/uuid.h"

namespace restante {

using WorkspaceId = Id<struct WorkspaceTag>;
using TokenId = Id<struct TokenTag>;
using InboxRowId = Id<struct InboxRowTag>;
using FileId = Id<struct FileTag>;

}  // namespace restante
