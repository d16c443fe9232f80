// The part of a database move that is not in the database: blobs that are files, the mark of their owner, the
// operator's token and the server's key, all in the data directory. Blobs in the database move with it, and objects
// stay in their bucket. If the new server uses the same directory the files stay, and are only counted; otherwise they
// are copied, and every copy is read again and compared. After a kill at any moment the same copy continues where it
// was. Throws OpenRefused with a sentence.
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
  std::optional<std::filesystem::path> to;  // none: the files stay
};

// A blob that rows refer to.
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
  std::uint64_t changed = 0;  // files that a disk has changed; copied as they are
};

// Blobs that are files, each once, however many rows share it; also second copies.
std::vector<ReferencedBlob> list_bytes(MoveDatabase& from);
// The number of blobs that are objects.
std::uint64_t count_objects(MoveDatabase& from);

// Refuses a directory that must be a mistake: one without the blobs that rows refer to, or a target with the secrets or
// the mark of another server.
void require_data(const DataMove& move, const std::vector<ReferencedBlob>& all);
// Without copying: counts what is there and what is missing.
CopiedData inspect_data(const DataMove& move, const std::vector<ReferencedBlob>& all);
// Calls `copied_data` with the size of each file once it is there. Durable on return.
CopiedData copy_data(const DataMove& move, const std::vector<ReferencedBlob>& all,
                     const std::function<void(std::uint64_t)>& copied_data);

}  // namespace restante
