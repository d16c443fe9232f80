// What lies with the platform, for its operator: lists and figures. Values only.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/upload.h"

namespace restante {

// Files for agents; outgoing ones are a group of their own. Waiting is what is neither acked nor expired: the three
// after it together. Damaged ones are in any of the others, too.
enum class UploadGroup { waiting, never_fetched, fetched, failed, acked, expired, outgoing, damaged };

struct UploadFilter {
  UploadGroup group = UploadGroup::waiting;
  std::optional<WorkspaceId> workspace;
  std::optional<Time> expires_before;  // of what can expire: only what does so before this
  std::optional<FileId> after;         // the last one of the page before
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
  UploadTally damaged;         // of all of these
  std::optional<Time> oldest;  // when the oldest of those that wait came
};

struct PlatformUploadStats {
  UploadStats total;
  std::vector<std::pair<WorkspaceId, UploadStats>> workspaces;  // those that have any, by id
};

std::string_view name_of(UploadGroup group);
std::optional<UploadGroup> parse_upload_group(std::string_view text);

}  // namespace restante
