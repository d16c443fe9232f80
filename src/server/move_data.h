// The part of a move that is not in the database: bytes that are files, the operator's token and the server's key, all
// in the data directory. Bytes that are rows move with the rows, and objects stay in their bucket. Where the new server
// uses the same directory they stay, and are only counted; otherwise they are copied, and every copy is read again and
// compared. Killed at any moment, the same copy goes on where it was. Throws OpenRefused with a sentence.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "store/move_database.h"

namespace restante {

struct DataMove {
  std::filesystem::path from;
  std::optional<std::filesystem::path> to;  // none: they stay
};

// Bytes that rows promise.
struct ReferencedBlob {
  std::string key;
  std::uint64_t size = 0;
  Digest sha256{};
};

struct CopiedData {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copied = 0;   // files, by this run
  std::uint64_t missing = 0;  // files that were lost before the move
  std::uint64_t changed = 0;  // and those that a disk has changed; copied as they are
};

// Those that are files, each once, however many rows share it; also where they are only the twin of others.
std::vector<ReferencedBlob> list_bytes(MoveDatabase& from);
// How many there are of those that are objects.
std::uint64_t count_objects(MoveDatabase& from);

// Refuses a directory that cannot be meant: without the bytes that rows promise, or a target with another's secrets.
void require_data(const DataMove& move, const std::vector<ReferencedBlob>& all);
// Without copying: what is there and what is not.
CopiedData inspect_data(const DataMove& move, const std::vector<ReferencedBlob>& all);
// `carried` is told the size of each file once it is there. Durable on return.
CopiedData copy_data(const DataMove& move, const std::vector<ReferencedBlob>& all,
                     const std::function<void(std::uint64_t)>& copied_data);

}  // namespace restante
