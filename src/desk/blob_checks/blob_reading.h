// BlobReading reads a blob piece by piece and hashes it. It stops at the blob's end, or at the first byte beyond the
// expected size. The caller decides the size of a piece, and when to pause or stop. Used by one thread at a time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/crypto.h"
#include "store/blobs.h"

namespace restante::desk {

class BlobReading {
 public:
  explicit BlobReading(std::int64_t size) : size_(size) {}

  // The next piece, a view of `into`. Empty at the end. Throws Unavailable.
  std::string_view next(OpenBlob& blob, std::span<char> into) {
    if (is_too_long()) return {};
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(size_ + 1 - at_, std::ssize(into)));
    const std::string_view bytes(into.data(), blob.read(static_cast<std::uint64_t>(at_), into.first(most)));
    hash_.update(bytes);
    at_ += static_cast<std::int64_t>(bytes.size());
    return bytes;
  }
  bool is_too_long() const { return at_ > size_; }
  // Call it once, at the end: whether the blob had the expected size and this digest.
  bool matches(const Digest& digest) { return at_ == size_ && hash_.finish() == digest; }

 private:
  std::int64_t size_;
  std::int64_t at_ = 0;
  Sha256 hash_;
};

}  // namespace restante::desk
