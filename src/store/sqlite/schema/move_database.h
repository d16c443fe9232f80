// A SQLite file as a MoveDatabase. Holds the data directory's lock until it is destroyed, so that no server uses the
// file. Throws OpenRefused when the file is in use, missing (as a source), damaged, not Restante's, or has another
// schema than this binary.
#pragma once
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "store/move_database.h"

namespace restante::sqlite {

// `now` is the date of migrations that are applied.
std::unique_ptr<MoveDatabase> open_move_database(const std::filesystem::path& file, MoveUse use, Time now);

}  // namespace restante::sqlite
