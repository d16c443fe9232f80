// Figures of the uploads on the server, computed from counts that the backends store and rows that they find. Pure
// functions.
#pragma once
#include <map>

#include "model/upload_rules.h"
#include "model/upload_stats.h"

namespace restante {

using StatsByWorkspace = std::map<WorkspaceId, UploadStats>;

UploadStats stats_of(const UploadTallies& kept);

// Uploads of one state and direction that are past their expiry.
struct Overdue {
  UploadDirection direction = UploadDirection::in;
  bool failed = false;
  bool fetched = false;
  UploadTally tally;
};
// Moves overdue uploads to `expired`. The stored counts still have them under their old state.
void count_as_expired(UploadStats& stats, const Overdue& overdue);

AllUploadStats sum_of(StatsByWorkspace all);

}  // namespace restante
