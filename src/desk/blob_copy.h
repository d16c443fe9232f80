// A blob's copy in another place: written and verified by its digest on the way, and read back from there. Blocks; ends
// after its piece when it is to stop. Throws Unavailable like the places.
#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "model/blob_move.h"
#include "store/places.h"

namespace restante::desk {

struct WrittenCopy {
  std::optional<std::string> key;  // none when what is in the old place is not what was staged, or it was stopped
  std::int64_t read = 0;           // bytes
};

WrittenCopy write_copy(Places& places, const MovingBlob& blob, Place to, const std::atomic<bool>& stopping);
// Whether the place gives what was staged; asked itself, not a memory of it.
bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping);

}  // namespace restante::desk
