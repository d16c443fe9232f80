// Opens a database file: finds or creates it, checks that it is Restante's and, if it is not too large, not damaged,
// sets WAL mode, and migrates it if that is requested. The caller must hold the directory's lock, DataLock. Also the
// transaction of one who has opened it alone. Throws OpenRefused with a sentence that names the file.
#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "store/migration.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/store.h"

namespace restante::sqlite {

// The lock on a data directory, for one process at a time. Held from construction to destruction; the kernel releases
// it when the process dies. Throws OpenRefused that names the other process when the lock is taken.
class DataLock {
 public:
  explicit DataLock(const std::filesystem::path& directory);

 private:
  Fd file_;
};

std::filesystem::path directory_of(const std::filesystem::path& file);

// Whether a database with an unfinished move into it is refused. Only that move may open it.
enum class HalfMoved { refused, accepted };

std::unique_ptr<Database> open_checked(const std::filesystem::path& file, const Options& options, Health& health,
                                       HalfMoved half_moved = HalfMoved::refused);
// True while a move into this database has not finished: only that move may use it.
bool has_marker(Database& database);

// Runs `body` in a transaction, which is rolled back when it throws.
template <class Body>
void in_transaction(Database& database, Body body) {
  database.run("BEGIN IMMEDIATE");
  try {
    body();
    database.run("COMMIT");
  } catch (...) {
    database.rollback();
    throw;
  }
}

// Runs `body` and throws every failure as OpenRefused with a sentence that names the file.
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
