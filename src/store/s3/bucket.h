// Bucket: objects by key. What put() and complete() call stored has been asked for and found, of the size that was
// sent: a 2xx alone is not believed. Whatever is worth repeating is repeated; a read that is cut goes on where it was.
// Thread-safe and blocking; a failure's sentence is for the operator. Throws nothing of its own.
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

// S3 takes no smaller part but the last.
constexpr std::size_t kPartBytes = 5 << 20;
constexpr std::size_t kDropBatch = 1000;

// How much is done for something: whatever the service was told, or little, where somebody waits and others clean up.
enum class Effort { full, brief };

// What is known of an object without reading it.
struct Stored {
  std::uint64_t size = 0;
  std::string etag;
};

class Bucket {
 public:
  using Sink = std::function<bool(std::string_view bytes)>;  // false: no more, the call ends as stopped

  explicit Bucket(Service& service) : service_(service) {}

  // Whether bucket, key and clock are right; asks for what begins with `prefix`.
  client::Outcome<void> check(const std::string& prefix = {});

  client::Outcome<void> put(const std::string& key, const Payload& payload);
  // Unless there is one already, which is no failure; a server that cannot tell puts it anyway.
  client::Outcome<void> put_new(const std::string& key, const Payload& payload);
  // All of it, with little patience; nothing when there is no such object.
  client::Outcome<std::optional<std::string>> read_small(const std::string& key);
  // Nothing when there is no such object.
  client::Outcome<std::optional<Stored>> head(const std::string& key);
  // Those bytes and no others, in pieces, each once; is_missing() when there is no such object, 412 when it is not the
  // one of that ETag (if one is given) any more.
  client::Outcome<void> get(const std::string& key, std::uint64_t offset, std::uint64_t length, const Sink& sink,
                            const std::string& etag = {});
  // Whether they were there or not; in batches, or one by one at a server that takes none.
  client::Outcome<void> drop(std::span<const std::string> keys, Effort effort = Effort::full);
  // In the order of keys, at most so many at a time; begin with an empty `from`, go on with the page's `next`.
  client::Outcome<ObjectPage> list(const std::string& prefix, const std::string& from, int most = 1000);

  // An upload by parts; nothing is visible under the key before complete().
  client::Outcome<std::string> begin(const std::string& key);
  client::Outcome<Part> put_part(const std::string& key, const std::string& upload, int number, const Payload& payload);
  client::Outcome<void> complete(const std::string& key, const std::string& upload, std::span<const Part> parts,
                                 std::uint64_t size);
  // Aborting what is not there any more is fine.
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
  std::atomic<bool> takes_batches_ = true;  // false once single ones went where a batch was refused
};

}  // namespace restante::s3
