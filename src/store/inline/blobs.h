// Blobs in the database, on the Chunks of a Store: for operators who want only the database to back up. A blob is
// written and read chunk by chunk, so memory stays bounded for any size, and a slow sender or reader holds no resource
// of the database between two chunks. The Chunks and the clock must outlive the Blobs.
#pragma once
#include <memory>

#include "base/clock.h"
#include "store/blobs.h"
#include "store/chunks.h"

namespace restante::inlined {

// `clock` gives the time of keys and writes. On a database that several servers share, all of them must use the same.
std::unique_ptr<Blobs> open(Chunks& chunks, const Clock& clock);

}  // namespace restante::inlined
