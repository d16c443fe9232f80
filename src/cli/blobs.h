// `restante blobs`: where the bytes of files are kept, and their change-over from one place to another. The server does
// the work; these commands ask it, and --wait shows how far it is. A progress bar on a terminal.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/blobs_adopt.h"
#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct BlobsOptions {
  enum class Action { status, migrate, finish, check, adopt };
  Action action = Action::status;
  RemoteOptions remote;
  std::string to;
  std::string rate;  // "10MB", a second; empty: as it is, at first as fast as it goes
  bool wait = false;
  bool fix = false;  // check
  AdoptOptions adopt{};
};

// Returns the exit code.
int blobs(const BlobsOptions& options);

// What one who waits is told. Attempts that fail are made again by the servers for ever; here it is enough once those
// of the server that was asked have come to nothing for so long. Another server's are seen only by what comes of them,
// so that it has five times as long, and as the rate makes one file take.
class MoveStallDetector {
 public:
  explicit MoveStallDetector(std::chrono::milliseconds limit) : limit_(limit) {}
  // How far it is now. Gives why an attempt failed where that was not told before; else nothing.
  std::string look(const Json& answer, std::chrono::steady_clock::time_point now);
  bool is_over() const { return !ending_.empty(); }
  // Why it is.
  const std::string& ending() const { return ending_; }

 private:
  struct State {
    std::string phase;
    std::uint64_t left_files = 0;
    std::uint64_t copied_files = 0;
    std::uint64_t second_copies = 0;
  };
  static State state_of(const Json& answer, const Json& move);
  bool has_moved(const State& now) const;
  std::string why_over(const Json& move, std::chrono::steady_clock::duration still) const;

  const std::chrono::milliseconds limit_;
  std::optional<std::chrono::steady_clock::time_point> moved_at_;
  State state_;
  std::uint64_t failures_ = 0;  // when it last moved
  std::string reported_;
  std::string ending_;
};

// "500000", "10MB", "1.5 MiB", "64k", with or without "/s"; 0 is no limit. None when it is no size, or no whole byte.
std::optional<std::int64_t> parse_rate(std::string_view text);
std::string format_blobs(const Json& answer, Colours colours);

}  // namespace restante::cli
