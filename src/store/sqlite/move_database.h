// A SQLite file as a House. It has the data directory's lock for as long as it lives, so no server works on it.
// Throws OpenRefused when it is in use, missing (as a source), damaged, foreign or of another schema than this
// binary's.
#pragma once
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "store/move_database.h"

namespace restante::sqlite {

// `now` is what applied migrations are dated with.
std::unique_ptr<MoveDatabase> open_move_database(const std::filesystem::path& file, MoveUse use, Time now);

}  // namespace restante::sqlite
