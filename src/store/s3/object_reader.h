// ObjectReader: reads an object at any offset, also for a slow reader. It fetches windows: the first is as large as the
// requested bytes, and each next one twice as large, up to 4 MiB, as long as the reads are sequential. Between two
// windows it holds memory only, no connection. Belongs to one thread at a time; must not outlive its Bucket.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "store/s3/bucket.h"

namespace restante::s3 {

constexpr std::size_t kLargestWindow = 4 << 20;

class ObjectReader {
 public:
  ObjectReader(Bucket& bucket, std::string key, Stored stored);

  std::uint64_t size() const { return stored_.size; }
  // Returns the number of bytes read: at least one, unless `at` is at the end or beyond. Fails when the object was
  // replaced since it was opened.
  client::Outcome<std::size_t> read(std::uint64_t at, std::span<char> into);
  // Discards the window: the next read makes a request.
  void forget() { window_ = std::string(); }

 private:
  client::Outcome<void> fetch(std::uint64_t at, std::size_t asked);

  Bucket& bucket_;
  const std::string key_;
  const Stored stored_;
  std::string window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace restante::s3
