// ObjectReader: an object read from any place, by whoever takes his time. Bytes are fetched by windows: the first as
// large as what is asked for, each next one twice as large, up to four mebibytes, while reads follow each other.
// Between two windows it holds memory only, no connection. Belongs to one thread at a time; must not outlive its
// Bucket.
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
  // How many bytes were read: at least one, unless `at` is at the end or beyond. A failure when the object is not the
  // one any more that it was in the beginning.
  client::Outcome<std::size_t> read(std::uint64_t at, std::span<char> into);
  // The next read asks S3.
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
