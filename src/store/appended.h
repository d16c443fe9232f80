// Where a write appended a row to an inbox. The bell, events and the answer to the client need it.
#pragma once
#include <cstdint>

#include "model/inbox_row.h"
#include "model/workspace.h"

namespace restante {

struct Appended {
  InboxRowId id;
  std::int64_t seq = 0;
  bool repeated = false;  // the same message was there already: nothing was appended
};

// A row that was appended to the inbox of `workspace`.
struct AppendedRow {
  WorkspaceId workspace;
  Appended at;
};

}  // namespace restante
