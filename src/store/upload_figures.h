// Figures of what lies with the platform, from what backends keep and find. Pure.
#pragma once
#include <map>

#include "model/upload_stats.h"
#include "store/upload_lifecycle.h"

namespace restante {

using StatsByWorkspace = std::map<WorkspaceId, UploadStats>;

UploadStats stats_of(const UploadTallies& kept);

// Of one state and direction, what is past its time.
struct Overdue {
  UploadDirection direction = UploadDirection::in;
  bool failed = false;
  bool fetched = false;
  UploadTally tally;
};
// The figures that are kept do not know the time: what is overdue still counts for the state it was in.
void set_expired_apart(UploadStats& stats, const Overdue& overdue);

PlatformUploadStats sum_of(StatsByWorkspace all);

}  // namespace restante
