// The mark of a directory of blobs: a file beside the subdirectories. It is never seen half written, and where two put
// one at once there is the one or the other. Throws Unavailable, also when another directory lies under the path now.
#pragma once
#include <optional>
#include <string>

#include "store/blobs.h"
#include "store/dir/blob_directory.h"

namespace restante::dir {

std::optional<std::string> read_mark(BlobDirectory& directory);
void write_mark(BlobDirectory& directory, const std::string& text, Blobs::MarkMode how, const Clock& clock);

}  // namespace restante::dir
