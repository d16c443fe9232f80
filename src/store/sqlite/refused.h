// OpenRefused in this backend's namespace.
#pragma once
#include "store/migration.h"

namespace restante::sqlite {

using restante::OpenRefused;

}  // namespace restante::sqlite
