// Integrity: whether the bytes that lie here are still those that were staged. A file that its agent could not take is
// looked at soon, whatever reason was given: reasons are any agent's own words, and a look costs one read. All files
// are gone through slowly, the oldest first, again and again. What is found changed or missing is marked in the store,
// said as an error in the log, and counted; of two copies one that is right is enough, and then the only one. What
// cannot be read is said and counted alone, since the next look may succeed. Bytes are read in small pieces, one file
// at a time. tick() belongs to one thread at a time, the rest is thread-safe.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/upload_events.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

struct IntegrityRules {
  std::chrono::milliseconds every{std::chrono::hours(24)};  // from the start of one walk to the next; 0: none
  std::uint64_t rate = 1 << 20;                             // bytes that the walk reads in a second
  std::chrono::milliseconds tick{std::chrono::seconds(1)};  // how often tick() is called
};

class Integrity {
 public:
  Integrity(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
            IntegrityRules rules);
  ~Integrity();

  // To be looked at soon; where too many wait already, when the walk comes to it. Never blocks.
  void suspect(const Upload& upload);
  // Whether a file that was found missing is there again, whole: a disk that was not mounted came back. Reads it all.
  bool came_back(const Upload& upload);
  // Found without reading it to the end.
  Commit<Result<std::vector<UploadChange>>> report_damage(const Upload& upload, UploadDamage damage);
  // Looks at suspects, then goes on with the walk as far as its rate allows. Throws Unavailable; the next one goes on.
  void tick();
  // From any thread: a tick that is under way ends after its piece.
  void stop() { stopping_ = true; }

 private:
  struct Reading;
  using Suspect = std::pair<WorkspaceId, FileId>;

  void look_at_suspects();
  std::optional<Suspect> next_suspect();
  void walk();
  bool begin_next();
  void end_walk();
  std::unique_ptr<Reading> begin(WorkspaceId workspace, FileId id);
  std::unique_ptr<Reading> begin_twin(const Upload& upload, UploadDamage damage);
  bool read_on(Reading& file, std::int64_t& allowance);
  void conclude(const Upload& upload, UploadDamage damage);
  void places_differ(const Upload& upload);
  void found(const Upload& upload, std::optional<UploadDamage> damage);
  void unreadable(const Upload& upload, const std::string& why);

  Store& store_;
  Places& places_;
  UploadEvents& events_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const IntegrityRules rules_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // agents' failures come from the writer's thread; nothing else is under it
  std::deque<Suspect> suspects_;

  // The walk, from tick to tick.
  std::optional<SteadyTime> began_;
  SteadyTime rests_until_;
  bool walking_ = false;
  std::optional<FileId> after_;
  std::deque<Upload> page_;
  std::unique_ptr<Reading> reading_;
  std::int64_t allowance_ = 0;  // below zero: read ahead of its time
  std::int64_t looked_at_ = 0;
};

}  // namespace restante::desk
