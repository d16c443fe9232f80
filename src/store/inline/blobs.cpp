#include "store/inline/blobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/blocking_scope.h"
#include "store/blob_key.h"
#include "store/inline/chunk_writer.h"

namespace restante::inlined {
namespace {

// Limit of bytes that all writers together have sent to the database and that are not committed: enough to keep two
// write lanes busy, and a quarter of what a writer's queue accepts.
constexpr std::size_t kPendingBytes = 16 * kChunkBytes;
constexpr int kListStep = 500;
constexpr std::size_t kDropStep = 256;
constexpr std::string_view kCheck = "check";

// It holds only its key: every read is a separate query that reads only the requested bytes.
class OpenChunks final : public OpenBlob {
 public:
  OpenChunks(Chunks& chunks, std::string key, std::uint64_t size)
      : chunks_(chunks), key_(std::move(key)), size_(size) {}

  std::uint64_t size() override { return chunks_.find(key_).value_or(0); }

  std::size_t read(std::uint64_t at, std::span<char> into) override {
    if (at >= size_ || into.empty()) return 0;
    const auto number = static_cast<std::int64_t>(at / kChunkBytes);
    const auto offset = static_cast<std::size_t>(at % kChunkBytes);
    const std::size_t most = std::min(into.size(), kChunkBytes - offset);
    const std::size_t got = chunks_.read(key_, number, offset, into.first(most));
    // A blob that was dropped meanwhile reads as its end. A missing chunk of an existing blob must not look like the
    // end.
    if (got == 0 && chunks_.find(key_)) throw Unavailable(fmt::format("chunk {} of blob {} is missing", number, key_));
    return got;
  }

 private:
  Chunks& chunks_;
  const std::string key_;
  const std::uint64_t size_;  // when it was opened
};

class InlineBlobs final : public Blobs {
 public:
  InlineBlobs(Chunks& chunks, const Clock& clock) : chunks_(chunks), clock_(clock) {}

  void check() override {
    auto writer = put();
    writer->write(kCheck);
    const std::string key = writer->finish();
    std::string back(kCheck.size(), '\0');
    const auto blob = open(key);
    const bool same = blob && blob->read(0, back) == kCheck.size() && back == kCheck;
    drop(key);
    if (!same) throw Unavailable("what was written into the database could not be read back");
  }

  std::unique_ptr<BlobWriter> put() override { return std::make_unique<ChunkWriter>(chunks_, semaphore_, clock_); }

  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    if (!is_blob_key(key)) return nullptr;
    const auto size = chunks_.find(key);
    return size ? std::make_shared<OpenChunks>(chunks_, std::string(key), *size) : nullptr;
  }

  void drop(std::string_view key) override { drop_all(std::array{std::string(key)}); }

  void drop_all(std::span<const std::string> keys) override {
    std::vector<std::string> ours;
    std::ranges::copy_if(keys, std::back_inserter(ours), is_blob_key);
    for (std::size_t at = 0; at < ours.size(); at += kDropStep) {
      const auto end = ours.begin() + static_cast<std::ptrdiff_t>(std::min(at + kDropStep, ours.size()));
      const std::vector<std::string> some(ours.begin() + static_cast<std::ptrdiff_t>(at), end);
      drop_completely([&] { return chunks_.drop(some); });
    }
  }

  BlobPage list(std::string_view from, Time before) override {
    BlobPage page;
    page.keys = chunks_.list(from, before, kListStep);
    if (page.keys.size() == kListStep) page.next = page.keys.back();
    return page;
  }

  std::size_t drop_unfinished(Time before) override {
    return drop_completely([&] { return chunks_.drop_unfinished(before); });
  }

  std::size_t count_unfinished(Time before) override {
    return static_cast<std::size_t>(chunks_.count_unfinished(before));
  }

 private:
  // Repeats the step until no chunk is left. Returns the number of dropped blobs.
  template <class Step>
  static std::size_t drop_completely(Step step) {
    const BlockingScope waiting;
    std::int64_t blobs = 0;
    for (;;) {
      const ChunkDrop drop = step().take().value();
      blobs += drop.blobs;
      if (!drop.more) return static_cast<std::size_t>(blobs);
    }
  }

  Chunks& chunks_;
  const Clock& clock_;
  const std::shared_ptr<ByteSemaphore> semaphore_ = std::make_shared<ByteSemaphore>(kPendingBytes);
};

}  // namespace

std::unique_ptr<Blobs> open(Chunks& chunks, const Clock& clock) { return std::make_unique<InlineBlobs>(chunks, clock); }

}  // namespace restante::inlined
