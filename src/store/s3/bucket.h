// Bucket: objects by key. put() and complete() succeed only after a HEAD has found the object with the size that was
// sent; a 2xx alone is not enough. Failures that may be temporary are repeated; an interrupted read continues where it
// stopped. Thread-safe and blocking; a failure's sentence is for the operator. Throws nothing itself.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "store/s3/answers.h"
#include "store/s3/service.h"

namespace restante::s3 {

// The smallest part that S3 accepts; only the last one may be smaller.
constexpr std::size_t kPartBytes = 5 << 20;
constexpr std::size_t kDropBatch = 1000;

// How often and how long a call is tried: as the service is set, or briefly, when a client waits and the sweep can do
// it later.
enum class Effort { full, brief };

// Properties of an object from HEAD.
struct Stored {
  std::uint64_t size = 0;
  std::string etag;
};

class Bucket {
 public:
  using Sink = std::function<bool(std::string_view bytes)>;  // false stops the call: its outcome is `stopped`

  explicit Bucket(Service& service) : service_(service) {}

  // Tests whether bucket, access key and clock are right, by a list of one object under `prefix`.
  client::Outcome<void> check(const std::string& prefix = {});

  client::Outcome<void> put(const std::string& key, const Payload& payload);
  // Does nothing when the object exists, which is no failure. A server without If-None-Match replaces the object.
  client::Outcome<void> put_new(const std::string& key, const Payload& payload);
  // The whole object, with brief effort; none when there is no such object.
  client::Outcome<std::optional<std::string>> read_small(const std::string& key);
  // None when there is no such object.
  client::Outcome<std::optional<Stored>> head(const std::string& key);
  // Exactly these bytes, in pieces, each byte once. is_missing() when there is no such object, status 412 when the
  // object no longer has the given ETag.
  client::Outcome<void> get(const std::string& key, std::uint64_t offset, std::uint64_t length, const Sink& sink,
                            const std::string& etag = {});
  // Succeeds also for objects that do not exist. In batches, or one by one at a server that does not support batches.
  client::Outcome<void> drop(std::span<const std::string> keys, Effort effort = Effort::full);
  // In the order of keys, at most `most` at a time; begin with an empty `from`, continue with the page's `next`.
  client::Outcome<ObjectPage> list(const std::string& prefix, const std::string& from, int most = 1000);

  // An upload by parts; nothing is visible under the key before complete().
  client::Outcome<std::string> begin(const std::string& key);
  client::Outcome<Part> put_part(const std::string& key, const std::string& upload, int number, const Payload& payload);
  client::Outcome<void> complete(const std::string& key, const std::string& upload, std::span<const Part> parts,
                                 std::uint64_t size);
  // Succeeds also for an upload that does not exist any more.
  client::Outcome<void> abort(const std::string& key, const std::string& upload, Effort effort = Effort::full);
  client::Outcome<UploadPage> list_uploads(const std::string& prefix, const UploadPage& after);

 private:
  client::Failure report_not_kept(const std::string& key) const;
  client::Outcome<bool> confirm(const std::string& key, const Stored& expected);
  void limit(S3Request& call, Effort effort) const;
  client::Outcome<void> drop_one(const std::string& key, Effort effort);
  client::Outcome<void> drop_some(std::span<const std::string> keys);
  client::Outcome<void> drop_batch(std::span<const std::string> keys, const std::string& checksum);
  client::Outcome<void> drop_each(std::span<const std::string> keys);

  Service& service_;
  std::atomic<bool> takes_batches_ = true;  // false once a batch was refused and single deletions succeeded
};

}  // namespace restante::s3
