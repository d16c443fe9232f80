// ObjectWriter: writes one object. The digest of a part is sent before the part, so a part is collected in memory
// first: 5 MiB, the smallest that S3 accepts. An object that fits into one part is put as a whole. If it is destroyed
// before finish() has succeeded, it aborts the upload and deletes what it may have stored. Belongs to one thread at a
// time; must not outlive its Bucket. Throws Unavailable, and StorageFull when the storage or quota of S3 is full.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/blobs.h"
#include "store/s3/bucket.h"

namespace restante::s3 {

class ObjectWriter final : public BlobWriter {
 public:
  // The object's name is `prefix` followed by `key`, the blob's key.
  ObjectWriter(Bucket& bucket, std::string prefix, std::string key);
  ~ObjectWriter() override;
  void write(std::string_view bytes) override;
  std::string finish() override;

 private:
  void send_part();

  enum class State { writing, unsure, finished };
  Bucket& bucket_;
  const std::string key_;
  const std::string object_;
  std::string gathered_;
  std::optional<std::string> upload_;  // once there is more than one part
  std::vector<Part> parts_;
  std::uint64_t sent_ = 0;
  State state_ = State::writing;
};

// Throws StorageFull when storage or quota is full, Unavailable for any other failure.
[[noreturn]] void throw_failure(const client::Failure& failure);

}  // namespace restante::s3
