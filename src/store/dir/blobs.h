// Blobs as files: <directory>/<2 hex>/<32 hex>. A file has no name before it is complete and synced, so a crash leaves
// nothing behind; where the file system cannot do that, it has a name in <directory>/tmp until it is old and dropped.
// Keys are made here and begin with the time, so that neighbours in time are neighbours in an index and no file need be
// looked at for its age: no name a client chose ever reaches the disk. An I/O error makes it refuse to write until a
// restart. open() throws Unavailable when the directory cannot be used. One process at a time: the data directory's
// lock.
#pragma once
#include <filesystem>
#include <memory>

#include "store/blobs.h"

namespace restante::dir {

// How bytes are kept before they are complete; `named` only where the other is not to be had.
enum class TemporaryNames { unnamed_if_possible, named };

// `clock` dates what is written, and lives longer: the one by which the caller calls something old.
std::unique_ptr<Blobs> open(const std::filesystem::path& directory, TemporaryNames temporary_names, const Clock& clock);
// By this machine's clock.
std::unique_ptr<Blobs> open(const std::filesystem::path& directory,
                            TemporaryNames temporary_names = TemporaryNames::unnamed_if_possible);

}  // namespace restante::dir
