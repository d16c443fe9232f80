// OpenRefused, under this backend's name.
#pragma once
#include "store/migration.h"

namespace restante::sqlite {

using restante::OpenRefused;

}  // namespace restante::sqlite
