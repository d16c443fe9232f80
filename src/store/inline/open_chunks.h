// OpenChunks: an open blob in the database. It holds only its key: every read is a separate query that reads only the
// requested bytes. Belongs to one thread at a time; must not outlive its Chunks. Throws Unavailable.
#pragma once
#include <string>

#include "store/blobs.h"
#include "store/chunks.h"

namespace restante::inlined {

class OpenChunks final : public OpenBlob {
 public:
  OpenChunks(Chunks& chunks, std::string key, std::uint64_t size)
      : chunks_(chunks), key_(std::move(key)), size_(size) {}
  std::uint64_t size() override;
  std::size_t read(std::uint64_t at, std::span<char> into) override;

 private:
  Chunks& chunks_;
  const std::string key_;
  const std::uint64_t size_;  // when it was opened
};

}  // namespace restante::inlined
