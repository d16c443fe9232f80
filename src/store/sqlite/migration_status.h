// What is known about one migration of a database, under this backend's name.
#pragma once
#include "store/migration.h"

namespace restante::sqlite {

using restante::MigrationStatus;

}  // namespace restante::sqlite
