#include "store/sql/store.h"

namespace restante {

std::optional<Time> SqlStore::find_clock() {
  require_uploads();
  return read([](SqlReader& reader) {
    return reader.find([](const SqlRow& row) { return row.time(0); }, "SELECT seen_at FROM server_clock");
  });
}

Commit<Result<void>> SqlStore::record_clock(Time trusted) {
  require_uploads();
  return write(maintenance_hints(), sizeof trusted, [trusted](SqlTransaction& transaction) -> Result<void> {
    transaction.run(
        "INSERT INTO server_clock (id, seen_at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET seen_at = "
        "excluded.seen_at",
        trusted);
    return {};
  });
}

}  // namespace restante
