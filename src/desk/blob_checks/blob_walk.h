// What the jobs on stored files share. BlobWalk goes through everything that is stored: the rows of all files, and all
// blobs in the places. FileReading reads the content of one file, every copy or until one is right. Both only find; the
// jobs decide: BlobCheck reports and repairs, Integrity marks, Sweep deletes. They keep their position, so that a job
// can work in slices of time or bytes. One thread at a time uses an object. They throw Unavailable; the same call then
// continues.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/log.h"
#include "base/metrics.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

// Called for every piece that was read, also if the read ends with an exception later.
using ReadBytes = std::function<void(std::size_t)>;

// Reads a blob piece by piece and hashes it. It stops at the blob's end, or at the first byte beyond the expected size.
// The caller decides the size of a piece, and when to pause or stop.
class BlobReading {
 public:
  explicit BlobReading(std::int64_t size) : size_(size) {}

  // The next piece, a view of `into`. Empty at the end.
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

struct CheckedCopy {
  enum class State { sound, missing, changed, unreadable };
  std::string key;  // empty: the content is in the row
  State state = State::sound;
  std::string why{};  // it is unreadable
};

// A wrong copy is read twice, since the difference may be in a cached copy, which is dropped before the second look.
class FileReading {
 public:
  // every: reads all copies; one that cannot be opened is unreadable. until_sound: reads a copy if none before it is
  // sound; throws Unavailable if it cannot be opened.
  enum class Copies { every, until_sound };
  // Opens the first copy.
  FileReading(Places& places, Upload upload, Copies wanted);

  // Reads at most `allowance` bytes and subtracts them; content in the row is read at once and costs nothing. False
  // while something is left to read; a stop decides nothing.
  bool read_on(std::int64_t& allowance, const std::atomic<bool>& stopping, const ReadBytes& count);
  bool read_all(const std::atomic<bool>& stopping, const ReadBytes& count);

  // Once all is read:
  const Upload& upload() const { return upload_; }
  const std::vector<CheckedCopy>& copies() const { return copies_; }
  // The first copy in this state, or null.
  const CheckedCopy* find(CheckedCopy::State state) const;
  // None while a copy is sound. None also if one is unreadable: the next read may succeed.
  std::optional<UploadDamage> damage() const;

 private:
  bool open_next();
  void read_piece(std::span<char> into, std::int64_t& allowance, const ReadBytes& count);
  void decide(CheckedCopy::State state, std::string why = {});

  Places& places_;
  const Upload upload_;
  const Copies wanted_;
  std::vector<CheckedCopy> copies_;
  std::deque<std::string> left_;  // the first is being read
  std::shared_ptr<OpenBlob> blob_;
  BlobReading reading_;
  bool second_look_ = false;
};

class BlobWalk {
 public:
  struct Blob {
    std::string key;
    bool named = false;  // by a row, or listed as dropped
  };
  // Reads so many rows at once.
  BlobWalk(Store& store, Places& places, int page = 1) : store_(store), places_(places), page_(page) {}
  void restart();

  // The next row, oldest first; null after the last one. The same one until pass_row().
  const Upload* next_row();
  void pass_row();
  // The next blobs that are older than `before`. The same ones until pass_blobs(), which is false after the last ones.
  std::vector<Blob> next_blobs(Time before, Places::UnreachablePlaces& unreachable_places);
  bool pass_blobs();

 private:
  Store& store_;
  Places& places_;
  const int page_;
  std::optional<FileId> after_;
  std::deque<Upload> rows_;
  std::string from_;
  std::string next_from_;
};

// The base of the jobs.
class BlobJob {
 public:
  // From any thread. Running work ends after its current piece or step.
  void stop() { stopping_ = true; }

 protected:
  BlobJob(Store& store, Places& places, const Clock& clock, Log& log, Metrics& metrics)
      : store_(store), places_(places), clock_(clock), log_(log), metrics_(metrics) {}
  ~BlobJob() = default;

  // Whether its row exists and names the same blobs. A row is deleted before its blobs, and a blob move changes the
  // keys: so a blob that is missing is damage only if this is true after the look at it.
  bool is_still(const Upload& upload) const;
  void count_orphan(const std::string& key);
  // Gives other work its share of disk and database: sleeps so many times as long as the step took, 50 ms at most.
  static void pause_for_writers(SteadyTime since, int times);

  Store& store_;
  Places& places_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  std::atomic<bool> stopping_{false};
};

}  // namespace restante::desk
