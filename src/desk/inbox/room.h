// Room: whether the disk still has room for what clients add. Uploads stop at the reserve (desk/uploads); messages,
// tasks and other rows stop at half of it. The other half is for what frees or protects and is never refused: acks,
// reports of a failure, recalls, heartbeats, the removal of workspaces and tokens, the sweep. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/error.h"
#include "model/errors.h"

namespace restante::desk {

struct RoomRules {
  std::uint64_t reserve = 0;
  // Free bytes of the database's disk after so many more; unset: not known, then nothing is refused.
  std::function<std::uint64_t(std::uint64_t)> free_after{};
};

class Room {
 public:
  explicit Room(RoomRules rules) : rules_(std::move(rules)) {}

  // For rows made of a request of so many bytes. insufficient_storage.
  Result<void> check_rows(std::size_t bytes) const {
    if (!rules_.free_after || rules_.free_after(bytes * kCopies) >= rules_.reserve / 2) return {};
    return errors::insufficient_storage;
  }

 private:
  // The write-ahead log, the database, and the row of the sender.
  static constexpr std::uint64_t kCopies = 3;
  const RoomRules rules_;
};

}  // namespace restante::desk
