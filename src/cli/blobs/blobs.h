// Parts of `restante blobs` that a test can use without a server.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/terminal/table.h"

namespace restante::cli {

// MoveStallDetector decides when --wait gives up, and reports why attempts fail. The servers repeat failed attempts for
// ever. --wait ends when all attempts of the requested server have failed for `limit`. Of another server it sees only
// the progress; that one gets five times as long, plus the time that one file takes at the rate limit.
class MoveStallDetector {
 public:
  explicit MoveStallDetector(std::chrono::milliseconds limit) : limit_(limit) {}
  // Takes the server's present answer. Returns why an attempt failed, if that is new; otherwise an empty text.
  std::string observe(const Json& answer, std::chrono::steady_clock::time_point now);
  bool is_stalled() const { return !reason_to_stop_.empty(); }
  // Why the move is stalled; empty when it is not.
  const std::string& reason_to_stop() const { return reason_to_stop_; }

 private:
  struct State {
    std::string phase;
    std::int64_t left_files = 0;
    std::int64_t copied_files = 0;
    std::int64_t second_copies = 0;
  };
  static State state_of(const Json& answer, const Json& move);
  bool has_moved(const State& now) const;
  std::string stall_reason(const Json& move, std::chrono::steady_clock::duration still) const;

  const std::chrono::milliseconds limit_;
  std::optional<std::chrono::steady_clock::time_point> moved_at_;
  State state_;
  std::int64_t failures_ = 0;  // number of failures at the last progress
  std::string reported_;
  std::string reason_to_stop_;
};

// "500000", "10MB", "1.5 MiB", "64k", with or without "/s"; 0 is no limit. No value when it is no size, or less than a
// byte.
std::optional<std::int64_t> parse_rate(std::string_view text);
std::string format_blobs(const Json& answer, Colours colours);
std::string format_blob_check(const Json& answer, Colours colours);

}  // namespace restante::cli
