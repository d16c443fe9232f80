// Copies a blob into another place. The digest is verified while the copy is written, and the copy can be read back.
// The functions block. They end after the current piece when `stopping` is set. They throw Unavailable like the places.
#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "desk/blob_checks/blob_walk.h"
#include "model/blob_move.h"

namespace restante::desk {

// Returns the key of the copy. None if the old place does not have the staged content, or if it was stopped.
std::optional<std::string> write_copy(Places& places, const MovingBlob& blob, Place to,
                                      const std::atomic<bool>& stopping, const ReadBytes& read);
// Whether the place returns the staged content, read from the place itself and not from a cache. False also when
// stopped.
bool reads_back(Places& places, const MovingBlob& blob, const std::string& key, const std::atomic<bool>& stopping,
                const ReadBytes& read);
// Writes a few bytes there, reads them back and deletes them. Throws Unavailable with the reason if a step fails.
void test_place(Places& places, Place place);

}  // namespace restante::desk
