// A blob's copy in another place: written and verified by its digest on the way, and read back from there. Blocks; ends
// after its piece when it is to stop. Throws Unavailable like the places.
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "model/blob_move.h"
#include "store/places.h"

namespace restante::desk {

// Told of every piece that was read, also of one that ends in an exception.
using ReadBytes = std::function<void(std::size_t)>;

// Gives its key; none when what is in the old place is not what was staged, or it was stopped.
std::optional<std::string> write_copy(Places& places, const MovingBlob& blob, Place to,
                                      const std::atomic<bool>& stopping, const ReadBytes& read);
// Whether the place gives what was staged; asked itself, not a memory of it. False also when it was stopped.
bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping,
                const ReadBytes& read);
// Writes a few bytes there, reads them back and drops them. Throws Unavailable with what of it is not possible.
void try_out(Places& places, Place place);

}  // namespace restante::desk
