// StateDirectory: the directory with the agent's token, snapshot and journal of the state, lock, health file and the
// files of running commands. Files are 0600; a folder that we create is 0700. One agent process at a time: a second one
// gets an error that names the first (host, process, since). One thread at a time.
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
  // Takes the lock, which ends with the process. DiskError::error is EWOULDBLOCK when another process has it.
  static DiskResult<StateDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }

  // The snapshot with the journal's lines applied; an empty state when there is none. A file that is not a state of
  // ours is an error and is never replaced. A last line that a kill has cut off is ignored.
  DiskResult<State> load();
  // Writes a snapshot of the state and an empty journal, atomically.
  DiskResult<void> save(const State& state);
  // Adds a line to the journal; durable after sync_journal().
  DiskResult<void> append(std::string_view line);
  DiskResult<void> sync_journal() const;
  std::uint64_t journal_bytes() const { return journal_bytes_; }

  // Empty when there is none.
  DiskResult<std::string> token() const;
  DiskResult<void> keep_token(const std::string& token) const;
  // An error when a file cannot be written and made durable there now.
  DiskResult<void> check_writable() const;

  // The health file for `restante status`, replaced as a whole; not synced.
  void write_health(std::string_view json) const;

 private:
  Fd folder_;
  Fd lock_;
  Fd journal_;
  std::uint64_t journal_bytes_ = 0;
  std::int64_t generation_ = 0;  // of the snapshot; a journal of another generation is ignored
  std::string path_;
};

// What can be read of a state directory from outside, whether an agent runs or not.
struct StateView {
  bool in_use = false;
  std::string holder;  // host, process, since; of the last process when none runs
  std::string health;  // content of the health file, JSON; empty: none
  std::optional<State> state;
  bool token = false;
};
// Changes nothing. An error when there is no such folder, or it cannot be read.
DiskResult<StateView> inspect_state(const std::string& path);

}  // namespace restante::agent
