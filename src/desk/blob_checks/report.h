// BlobCheckReport holds the progress and the findings of a blob check. Its text form is kept in the store, where every
// server can read it. All findings are counted; only the first ones are kept with details. Values only.
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

// out_of_reach is a whole place that could not be listed: only the blobs that rows name were checked there.
enum class BlobFault { missing, changed, unreadable, orphan, unfinished, out_of_reach };
inline constexpr std::array kBlobFaults = {BlobFault::missing, BlobFault::changed,    BlobFault::unreadable,
                                           BlobFault::orphan,  BlobFault::unfinished, BlobFault::out_of_reach};
std::string_view name_of(BlobFault fault);

// What was done: nothing, the file was marked as damaged, its copy was replaced, the blob was deleted.
enum class BlobRemedy { none, marked, restored, dropped };
std::string_view name_of(BlobRemedy remedy);

// The upload that owns the blob, as it was at the time of the check.
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
  std::string blob{};                     // its key; empty: the content is in the row, or it is a whole place
  std::optional<BlobFindingFile> file{};  // none: no row names the blob
  std::string reason{};                   // why it could not be read, reached or repaired
  std::optional<Place> place{};           // set for out_of_reach
};

struct BlobCheckReport {
  // interrupted: its server has stopped without saving an end.
  enum class State { none, running, done, stopped, failed, interrupted };
  State state = State::none;
  bool mend = false;
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
  std::int64_t files = 0;      // checked
  std::int64_t all_files = 0;  // at the beginning
  std::int64_t blobs = 0;      // checked in the places, after all files
  std::int64_t bytes = 0;      // read
  std::array<std::int64_t, kBlobFaults.size()> found{};
  std::int64_t mended = 0;
  std::vector<BlobFinding> findings{};
  std::string reason{};  // why it failed, or what delays it

  std::int64_t wrong() const;  // and not repaired
};
std::string_view name_of(BlobCheckReport::State state);

// Writes the counts as members of the object that is being written.
void write_counts(JsonWriter& out, const BlobCheckReport& report);

// The text that the store keeps, written and read. From text of another version it reads what it understands.
std::string write_progress(const BlobCheckReport& report);
std::string write_findings(const BlobCheckReport& report);
BlobCheckState kept_state(BlobCheckReport::State state);
BlobCheckReport read_report(const BlobCheckRow& row);

}  // namespace restante::desk
