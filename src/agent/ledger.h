// Ledger: the state while the agent runs. Several threads change it; each change is in the journal before the call
// returns, and on the disk where the method is marked "durable". When the disk fails, delivery continues: the change
// counts in memory, one line is printed, and the whole state is written as soon as the disk works again. Thread-safe:
// the poll, the downloads, the hand-over and the replies have their own threads and share only this.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/delivery.h"
#include "agent/state_directory.h"
#include "base/mutex.h"

namespace restante::agent {

class Ledger {
 public:
  using PrintLine = std::function<void(std::string_view)>;
  // `state` is the result of directory.load().
  Ledger(StateDirectory directory, State state, PrintLine print_line);

  DiskResult<std::string> token() const;
  // Durable.
  DiskResult<void> keep_token(const std::string& token);
  // An error when keep_token() would fail now.
  DiskResult<void> check_writable() const;
  void write_health(std::string_view json);

  State state() const;  // a copy
  std::string workspace() const { return read(&State::workspace); }
  std::string enrolled() const { return read(&State::enrolled); }
  std::int64_t cursor() const { return read(&State::cursor); }
  Position position() const {
    const MutexLock lock(mutex_);
    return {state_.cursor, state_.cursor_row};
  }
  bool started() const { return read(&State::started); }
  std::optional<FileRecord> file(FileId id) const;
  std::optional<Reply> next_reply() const;
  bool has_seen(const ReceivedRow& row) const;
  bool has_begun(const std::string& delivery) const;
  Delivery compose(ReceivedRow row) const;
  // The hops of an automatic answer to another agent's message, see hops.h.
  std::optional<std::int64_t> next_hop(const Delivery& delivery) const;
  struct Counts {
    std::size_t waiting_files = 0;
    std::size_t unsent_replies = 0;
  };
  Counts counts() const;
  // Files with something left to do: fetch, acknowledge, hand over, or notify the agent that they did not arrive.
  std::vector<FileRecord> unfinished_files() const;

  // Durable.
  void set_identity(std::string_view server, std::string_view workspace, std::string_view enrolled);
  // False when the file is known already. Durable after the next set_cursor().
  bool announce(const FileRecord& file);
  // Durable, together with everything before it.
  void set_cursor(std::int64_t cursor, std::string_view row = {});
  void file_updated(const FileRecord& file);
  enum class Begun { first_time, again };
  // Durable. A kill after this leaves it unknown whether the agent got the delivery.
  Begun begin(const std::string& id);
  // Durable.
  void end_delivery(const change::DeliveryEnd& end);
  // An answer to a delivery that was handed over; empty when it is queued, durable, else why it cannot be. `reply` has
  // key, text, files and failed; the rest comes from what the state knows of the delivery. With an empty id it is a
  // message to the person.
  std::string answer(const std::string& delivery, Reply reply);
  void sent(const std::string& key);

 private:
  template <class T>
  T read(T State::* member) const {
    const MutexLock lock(mutex_);
    return state_.*member;
  }
  enum class Durable { now, with_the_next };
  void change(const std::string& line, Durable durable) RESTANTE_EXCLUDES(mutex_);
  DiskResult<void> write(const std::string& line, Durable durable) RESTANTE_REQUIRES(mutex_);

  const PrintLine print_line_;
  mutable Mutex mutex_;
  StateDirectory directory_ RESTANTE_GUARDED_BY(mutex_);
  State state_ RESTANTE_GUARDED_BY(mutex_);
  bool failing_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::agent
