#include "store/inline/open_chunks.h"

#include <fmt/format.h>

namespace restante::inlined {

std::uint64_t OpenChunks::size() { return chunks_.find(key_).value_or(0); }

std::size_t OpenChunks::read(std::uint64_t at, std::span<char> into) {
  if (at >= size_ || into.empty()) return 0;
  const auto number = static_cast<std::int64_t>(at / kChunkBytes);
  const auto offset = static_cast<std::size_t>(at % kChunkBytes);
  const std::size_t most = std::min(into.size(), kChunkBytes - offset);
  const std::size_t got = chunks_.read(key_, number, offset, into.first(most));
  // A blob that was dropped meanwhile reads as its end. A missing chunk of an existing blob must not look like the end.
  if (got == 0 && chunks_.find(key_)) throw Unavailable(fmt::format("chunk {} of blob {} is missing", number, key_));
  return got;
}

}  // namespace restante::inlined
