#include "store/dir/blob_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/blocking_scope.h"

namespace restante::dir {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10;
// Reserving space keeps a big file in one piece; below this size it only costs a call.
constexpr std::int64_t kReserveFrom = 1 << 20;
constexpr std::int64_t kReserveStep = 4 << 20;
// Writing to the disk early, while more data arrives, leaves little for the final sync.
constexpr std::int64_t kFlushStep = 4 << 20;

}  // namespace

void BlobFile::write(std::string_view bytes) {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kBufferBytes - gathered_);
    std::memcpy(buffer_.get() + gathered_, bytes.data(), piece);
    gathered_ += piece;
    bytes.remove_prefix(piece);
    if (gathered_ == kBufferBytes) put_buffer();
  }
}

void BlobFile::sync() {
  if (gathered_ > 0) put_buffer();
  if (reserved_ > put_ && ftruncate(fd(), put_) != 0) directory_.fail("trim a blob");
  directory_.sync_data(fd());
}

void BlobFile::put_buffer() {
  reserve(put_ + static_cast<std::int64_t>(gathered_));
  directory_.write_all(fd(), {buffer_.get(), gathered_}, put_);
  put_ += static_cast<std::int64_t>(gathered_);
  gathered_ = 0;
  if (put_ - flushed_ < kFlushStep) return;
  const BlockingScope waiting;  // blocks when the disk is busy
  sync_file_range(fd(), flushed_, put_ - flushed_, SYNC_FILE_RANGE_WRITE);
  flushed_ = put_;
}

void BlobFile::reserve(std::int64_t end) {
  if (end <= kReserveFrom || end <= reserved_) return;
  // Only an optimisation: if it fails because the disk is full, the write will fail too.
  const std::int64_t from = std::max(reserved_, put_);
  reserved_ = end + kReserveStep;
  fallocate(fd(), FALLOC_FL_KEEP_SIZE, from, reserved_ - from);
}

}  // namespace restante::dir
