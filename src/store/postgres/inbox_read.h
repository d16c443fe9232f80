// Reading a log: by cursor, by number and by time. In one round trip, unless times are asked for. Belongs to the thread
// of its Connection.
#pragma once
#include <vector>

#include "store/postgres/connection.h"
#include "store/store.h"

namespace restante::postgres {

// The first row at or after a moment, of those up to `head`; one more than that when there is none.
std::int64_t seq_at(Connection& connection, WorkspaceId workspace, Time moment, std::int64_t head);

// As Store::read_inbox().
Result<std::vector<InboxRow>> read_page(Connection& connection, WorkspaceId workspace, const InboxQuery& query);

}  // namespace restante::postgres
