// Home: the state directory: token, snapshot and journal of the state, lock, how it goes, the commands under way; 0600
// in a folder that is 0700 when we make it. One agent at a time lives in it: a second one is told who is there (host,
// process, since) instead of fighting over the cursor. Belongs to one thread at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/files.h"
#include "agent/state.h"

namespace restante::agent {

class StateDirectory {
 public:
  // Takes the lock, which ends with the process. error is EWOULDBLOCK when another has it.
  static DiskResult<StateDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }

  // The snapshot with the journal's lines applied; a fresh one when there is none. A file that is no state of ours is a
  // fault, never silently replaced; a last line that was cut by a kill never counted.
  DiskResult<State> load();
  // The state as it is now, and an empty journal: whole or not at all.
  DiskResult<void> save(const State& state);
  // Adds a line to the journal; durable after sync_journal().
  DiskResult<void> append(std::string_view line);
  DiskResult<void> sync_journal() const;
  std::uint64_t journal_bytes() const { return journal_bytes_; }

  // Empty when there is none.
  DiskResult<std::string> token() const;
  DiskResult<void> keep_token(const std::string& token) const;

  // A note for `restante status`, replaced as a whole; not worth a sync.
  void write_health(std::string_view json) const;

 private:
  Descriptor folder_;
  Descriptor lock_;
  Descriptor journal_;
  std::uint64_t journal_bytes_ = 0;
  std::int64_t generation_ = 0;  // of the snapshot; a journal of another one is a leftover
  std::string path_;
};

// What can be seen of a home from outside, while an agent lives there or not.
struct StateView {
  bool occupied = false;
  std::string holder;  // host, process, since; of the last one when it is not occupied
  std::string health;  // the last note, JSON; empty: none
  std::optional<State> state;
  bool token = false;
};
// Changes nothing. A fault when there is no such folder, or it cannot be read.
DiskResult<StateView> inspect_state(const std::string& path);

}  // namespace restante::agent
