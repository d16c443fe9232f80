// Bytes in the database: Blobs on the Chunks of a Store, for whoever wants one thing to back up. A blob is written and
// read chunk by chunk, so that memory stays bounded however large it is, and a slow sender or reader holds nothing of
// the database's between two of them. The Chunks and the clock live longer.
#pragma once
#include <memory>

#include "base/clock.h"
#include "store/blobs.h"
#include "store/chunks.h"

namespace restante::inlined {

// `clock` dates what is written. On a database that several servers share it must be the one they agree on.
std::unique_ptr<Blobs> open(Chunks& chunks, const Clock& clock);

}  // namespace restante::inlined
