// Lists and figures of the stored uploads, for the operator. Values only.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "model/upload.h"

namespace restante {

// Groups of files for agents, and outgoing files as a separate group. `waiting` is every file that is neither acked nor
// expired: the three groups after it together. A damaged file is also in one of the other groups.
enum class UploadGroup { waiting, never_fetched, fetched, failed, acked, expired, outgoing, damaged };
inline constexpr Names<UploadGroup, UploadGroup::damaged> kUploadGroups{
    "waiting", "never_fetched", "fetched", "failed", "acked", "expired", "outgoing", "damaged"};
constexpr std::string_view name_of(UploadGroup group) { return kUploadGroups.of(group); }
constexpr std::optional<UploadGroup> parse_upload_group(std::string_view text) { return kUploadGroups.parse(text); }

struct UploadFilter {
  UploadGroup group = UploadGroup::waiting;
  std::optional<WorkspaceId> workspace;
  std::optional<Time> expires_before;  // of files that can expire: only those that expire before this
  std::optional<FileId> after;         // the last one of the previous page
  int limit = 100;
};

struct UploadTally {
  std::int64_t files = 0;
  std::int64_t bytes = 0;

  bool operator==(const UploadTally&) const = default;
};

struct UploadStats {
  UploadTally never_fetched;
  UploadTally fetched;  // and neither acked nor failed
  UploadTally failed;
  UploadTally acked;
  UploadTally expired;  // due to be swept
  UploadTally outgoing;
  UploadTally damaged;         // among all of these
  std::optional<Time> oldest;  // when the oldest of the waiting files was staged
};

// Which workspaces to list, by id.
struct UploadStatsPage {
  std::optional<WorkspaceId> only{};   // this one
  std::optional<WorkspaceId> after{};  // the last one that the previous page looked at
  std::optional<int> limit{};  // looks at so many workspaces, with and without files; none: at all; 0: total only
};

struct AllUploadStats {
  UploadStats total;                                            // of all workspaces, or of the only one
  std::vector<std::pair<WorkspaceId, UploadStats>> workspaces;  // those of the page that have files, by id
  std::optional<WorkspaceId> next{};  // the next page begins after this one; none: it was the last
};

}  // namespace restante
