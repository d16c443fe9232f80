// Whether the tables of uploads exist.
#pragma once
#include "store/postgres/connections/connection.h"

namespace restante::postgres {

bool has_upload_tables(Connection& connection);

}  // namespace restante::postgres
