// Opening a database file: found or made, known to be ours, sound, with a log beside it, and migrated where that was
// asked for. For whoever holds the directory's lock. Throws OpenRefused with a sentence that names the file.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "store/sqlite/database.h"
#include "store/sqlite/refused.h"
#include "store/sqlite/store.h"

namespace restante::sqlite {

std::filesystem::path directory_of(const std::filesystem::path& file);

// A database that a move has begun to fill is for that move alone.
enum class HalfMoved { refused, accepted };

std::unique_ptr<Database> open_checked(const std::filesystem::path& file, const Options& options, Health& health,
                                       HalfMoved half_moved = HalfMoved::refused);

// Every reason not to work on this file, as a sentence that names it.
template <class Body>
auto refusing(const std::filesystem::path& file, Body body) {
  try {
    return body();
  } catch (const OpenRefused& refused) {
    throw OpenRefused(fmt::format("{}: {}", file.string(), refused.what()));
  } catch (const Unavailable& failed) {
    throw OpenRefused(
        fmt::format("{} cannot be opened; it may be damaged or no database at all: {}", file.string(), failed.what()));
  }
}

}  // namespace restante::sqlite
