// Ledger: the state while the agent runs: one state, changed by several threads, each change in the journal before the
// caller goes on. Where a method says durable, it is on the disk when it returns. A disk that refuses does not stop the
// mail: the change counts in memory, is said once, and is written with everything else as soon as the disk allows.
// Thread-safe: the poll, the couriers, the hand-over and the replies each have their own thread and share this alone.
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/delivery.h"
#include "agent/state_directory.h"

namespace restante::agent {

class Ledger {
 public:
  using PrintLine = std::function<void(std::string_view)>;
  // `state` is what home.load() gave.
  Ledger(StateDirectory directory, State state, PrintLine print_line);

  const std::string& path() const { return directory_.path(); }
  DiskResult<std::string> token() const;
  // Durable.
  DiskResult<void> keep_token(const std::string& token);
  void write_health(std::string_view json);

  State state() const;  // a copy
  std::string workspace() const;
  std::string enrolled() const;
  std::int64_t cursor() const;
  bool started() const;
  std::optional<FileRecord> file(FileId id) const;
  std::optional<Reply> next_reply() const;
  bool has_seen(const ReceivedRow& row) const;
  bool has_begun(const std::string& delivery) const;
  Delivery compose(ReceivedRow row) const;
  // See hops.h: what an automatic answer to another agent's message shall carry.
  std::optional<std::int64_t> next_hop(const Delivery& delivery) const;
  struct Counts {
    std::size_t waiting_files = 0;
    std::size_t unsent_replies = 0;
  };
  Counts counts() const;
  // Files about which something is left to do: to fetch, to acknowledge, to hand over, to tell.
  std::vector<FileRecord> unfinished_files() const;

  // Durable.
  void set_identity(std::string_view server, std::string_view workspace, std::string_view enrolled);
  // False when it is known already. Durable by the next pass().
  bool announce(const FileRecord& file);
  // Durable, together with everything before it.
  void pass(std::int64_t cursor);
  void file_updated(const FileRecord& file);
  enum class Begun { first_time, again };
  // Durable: from here on a kill leaves it open whether the agent got the delivery.
  Begun begin(const std::string& id);
  // Durable.
  void handed(const change::DeliveryEnd& end);
  void sent(const std::string& key);

 private:
  enum class Durable { now, with_the_next };
  void change(const std::string& line, Durable durable);
  DiskResult<void> write(const std::string& line, Durable durable);

  mutable std::mutex mutex_;
  StateDirectory directory_;
  State state_;
  PrintLine print_line_;
  bool failing_ = false;
};

}  // namespace restante::agent
