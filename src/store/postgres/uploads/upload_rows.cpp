#include "store/postgres/uploads/upload_rows.h"

namespace restante::postgres {

bool has_upload_tables(Connection& connection) {
  const auto found = connection.query(
      "SELECT count(to_regclass(name)) FROM unnest(ARRAY['pending_uploads', 'upload_contents', 'finished_uploads', "
      "'dropped_blobs']) AS wanted (name)");
  return found.front().integer(0) == 4;
}

}  // namespace restante::postgres
