// Blobs as files: <directory>/<2 hex>/<32 hex>. A file has no name before it is complete and synced, so a crash leaves
// nothing behind. If the file system cannot do that, the file has a name in <directory>/tmp, and the sweep deletes it
// there when it is old. Keys are made here, never from a name that a client chose. They begin with the time, so that
// blobs of one time are close to each other in an index, and the key shows the age of a file. After an I/O error it
// refuses to write until a restart. open() throws Unavailable when the directory cannot be used. For one process at a
// time, by the data directory's lock.
#pragma once
#include <filesystem>
#include <memory>

#include "store/blobs.h"

namespace restante::dir {

// Whether an unfinished file has a name. `unnamed_if_possible` uses names only where the file system requires them.
enum class TemporaryNames { unnamed_if_possible, named };

// `clock` gives the time of keys and must outlive the blobs. The caller must use the same clock to decide what is old.
std::unique_ptr<Blobs> open(const std::filesystem::path& directory, TemporaryNames temporary_names, const Clock& clock);
// With this machine's clock.
std::unique_ptr<Blobs> open(const std::filesystem::path& directory,
                            TemporaryNames temporary_names = TemporaryNames::unnamed_if_possible);

}  // namespace restante::dir
