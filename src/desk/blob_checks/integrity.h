// Integrity checks whether stored files still have the content that was staged. A file that its agent could not take is
// checked soon, whatever reason the agent gave: the reason is free text, and a check costs one read. In addition all
// files are checked slowly, the oldest first, again and again. A changed or missing file is marked as damaged in the
// store, logged as an error and counted. If one of two copies is right, the row keeps only that one. A file that cannot
// be read is only logged and counted, since the next read may succeed. Content is read in small pieces, one file at a
// time. Only one thread at a time calls tick(); the other methods are thread-safe.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "desk/blob_checks/blob_walk.h"
#include "desk/uploads/upload_events.h"

namespace restante::desk {

struct IntegrityRules {
  std::chrono::milliseconds every{std::chrono::hours(24)};  // from the start of one pass to the next; 0: no passes
  std::uint64_t rate = 1 << 20;                             // bytes that the pass reads in a second
  std::chrono::milliseconds tick{std::chrono::seconds(1)};  // how often tick() is called
};

class Integrity final : public BlobJob {
 public:
  Integrity(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
            IntegrityRules rules);

  // Checks the file soon. If too many files wait already, the pass over all files checks it. Never blocks.
  void suspect(const Upload& upload);
  // Whether a missing file is complete again, for example because a disk was mounted again. Reads the whole file.
  bool came_back(const Upload& upload);
  // Marks a file as damaged. The caller has found the damage; this does not read the file.
  Commit<Result<std::vector<UploadChange>>> report_damage(const Upload& upload, UploadDamage damage);
  // Checks the suspects, then continues the pass as far as its rate allows. Throws Unavailable; the next tick
  // continues. A suspect that could not be checked stays one, and all of them wait a minute.
  void tick();

 private:
  using Suspect = std::pair<WorkspaceId, FileId>;

  void check_suspects();
  // Returns the size of the file.
  std::int64_t check(const Suspect& suspect);
  std::optional<Suspect> next_suspect();
  void continue_pass();
  bool begin_next();
  void end_pass();
  std::unique_ptr<FileReading> begin(WorkspaceId workspace, FileId id);
  void conclude(const FileReading& file);
  void keep_second_copy(const Upload& upload);

  UploadEvents& events_;
  const IntegrityRules rules_;
  const ReadBytes count_bytes_;
  Mutex mutex_;  // agents' failures come from the writer thread
  std::deque<Suspect> suspects_ RESTANTE_GUARDED_BY(mutex_);
  SteadyTime suspects_paused_until_;

  // The pass over all files, from tick to tick.
  std::optional<SteadyTime> began_;
  SteadyTime paused_until_;
  bool passing_ = false;
  BlobWalk walk_;
  std::unique_ptr<FileReading> reading_;
  std::int64_t allowance_ = 0;  // below zero: more was read than the rate allows
  std::int64_t checked_ = 0;
};

}  // namespace restante::desk
