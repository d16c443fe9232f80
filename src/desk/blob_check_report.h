// BlobCheckReport: how far a check of all bytes is and what it has found, and the text of it that the store keeps for
// every server to read. The first findings are named, all are counted. Values only.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "model/blob_check.h"
#include "model/upload.h"

namespace restante::desk {

// out_of_reach is a whole place, of which only what rows say was looked for.
enum class BlobFault { missing, changed, unreadable, orphan, unfinished, out_of_reach };
inline constexpr std::array kBlobFaults = {BlobFault::missing, BlobFault::changed,    BlobFault::unreadable,
                                           BlobFault::orphan,  BlobFault::unfinished, BlobFault::out_of_reach};
std::string_view name_of(BlobFault fault);

// What was done about it: nothing, the file is known to be damaged, it was made anew, it was dropped.
enum class BlobRemedy { none, marked, restored, dropped };
std::string_view name_of(BlobRemedy remedy);

// Whose bytes they are, as it was when they were looked at.
struct BlobFindingFile {
  BlobFindingFile() = default;
  BlobFindingFile(const Upload& upload)  // NOLINT(google-explicit-constructor): a part of it
      : workspace_id(upload.workspace_id), id(upload.id), name(upload.name), size(upload.size) {}

  WorkspaceId workspace_id;
  FileId id;
  std::string name;
  std::int64_t size = 0;
};

struct BlobFinding {
  BlobFault fault = BlobFault::missing;
  BlobRemedy remedy = BlobRemedy::none;
  std::string blob{};                     // its key; empty: the row keeps the bytes, or it is a whole place
  std::optional<BlobFindingFile> file{};  // none: no row knows it
  std::string reason{};                   // why it could not be read, reached or mended
  std::optional<Place> place{};           // that is out of reach
};

struct BlobCheckReport {
  // interrupted: nobody does it any more, and nobody said why.
  enum class State { none, running, done, stopped, failed, interrupted };
  State state = State::none;
  bool mend = false;
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
  std::int64_t files = 0;      // looked at
  std::int64_t all_files = 0;  // that there were at the beginning
  std::int64_t blobs = 0;      // looked at in the places, once all files were
  std::int64_t bytes = 0;      // read
  std::array<std::int64_t, kBlobFaults.size()> found{};
  std::int64_t mended = 0;
  std::vector<BlobFinding> findings{};
  std::string reason{};  // why it failed, or what holds it up

  std::int64_t wrong() const;  // and not mended
};
std::string_view name_of(BlobCheckReport::State state);

// How much was looked at and found, as members of the object that is being written.
void write_counts(JsonWriter& out, const BlobCheckReport& report);

// What the store keeps of it, and what was kept. Text of another version is read as far as it is understood.
std::string write_progress(const BlobCheckReport& report);
std::string write_findings(const BlobCheckReport& report);
BlobCheckState kept_state(BlobCheckReport::State state);
BlobCheckReport read_report(const BlobCheckRow& row);

}  // namespace restante::desk
