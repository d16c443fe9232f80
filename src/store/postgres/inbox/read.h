// Reads an inbox by cursor, by number and by time. One round trip, unless the query has times. Belongs to the thread of
// its Connection.
#pragma once
#include <vector>

#include "store/postgres/connections/connection.h"
#include "store/store.h"

namespace restante::postgres {

// The number of the first row at or after a moment, among the rows up to `head`; `head` + 1 when there is none.
std::int64_t seq_at(Connection& connection, WorkspaceId workspace, Time moment, std::int64_t head);

// As Store::read_inbox().
Result<std::vector<InboxRow>> read_page(Connection& connection, WorkspaceId workspace, const InboxQuery& query);

}  // namespace restante::postgres
