// Draft: an object in the making. A part's digest stands in front of it, so a part is gathered in memory before it is
// sent: five mebibytes, the least S3 takes. What fits into one is put whole. Destroyed before finish() has succeeded it
// aborts what it began and removes what it may have left. Belongs to one thread at a time; must not outlive its Bucket.
// Throws Unavailable, and StorageFull when S3 has no room for us.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/blobs.h"
#include "store/s3/bucket.h"

namespace restante::s3 {

class ObjectWriter final : public BlobWriter {
 public:
  // `key` is the blob's, `prefix` what stands before it in the bucket.
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

// As an exception: StorageFull for a quota, Unavailable for anything else.
[[noreturn]] void throw_failure(const client::Failure& failure);

}  // namespace restante::s3
