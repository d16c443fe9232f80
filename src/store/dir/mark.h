// The mark of a directory of blobs: a file beside the subdirectories. A reader never sees it half written; when two
// writers put a mark at once, one of the two marks stays. Throws Unavailable, also when the path names another
// directory now.
#pragma once
#include <optional>
#include <string>

#include "store/blobs.h"
#include "store/dir/blob_directory.h"

namespace restante::dir {

std::optional<std::string> read_mark(BlobDirectory& directory);
void write_mark(BlobDirectory& directory, const std::string& text, Blobs::MarkMode how, const Clock& clock);

}  // namespace restante::dir
