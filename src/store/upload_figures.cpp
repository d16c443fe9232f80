#include "store/upload_figures.h"

namespace restante {
namespace {

void add(UploadTally& to, const UploadTally& more) {
  to.files += more.files;
  to.bytes += more.bytes;
}

void subtract(UploadTally& from, const UploadTally& less) { add(from, {-less.files, -less.bytes}); }

void sum_up(UploadStats& total, const UploadStats& one) {
  add(total.never_fetched, one.never_fetched);
  add(total.fetched, one.fetched);
  add(total.failed, one.failed);
  add(total.acked, one.acked);
  add(total.expired, one.expired);
  add(total.outgoing, one.outgoing);
  add(total.damaged, one.damaged);
  if (one.oldest && (!total.oldest || *one.oldest < *total.oldest)) total.oldest = one.oldest;
}

}  // namespace

UploadStats stats_of(const UploadTallies& kept) {
  UploadStats stats;
  stats.never_fetched = kept.staged;
  stats.fetched = kept.fetched;
  stats.failed = kept.failed;
  stats.acked = kept.acked;
  stats.outgoing = kept.outgoing;
  for (const auto& other : {kept.fetched, kept.failed, kept.acked, kept.outgoing}) subtract(stats.never_fetched, other);
  return stats;
}

void count_as_expired(UploadStats& stats, const Overdue& overdue) {
  add(stats.expired, overdue.tally);
  if (overdue.direction == UploadDirection::out) {
    subtract(stats.outgoing, overdue.tally);
  } else if (overdue.failed) {
    subtract(stats.failed, overdue.tally);
  } else {
    subtract(overdue.fetched ? stats.fetched : stats.never_fetched, overdue.tally);
  }
}

AllUploadStats sum_of(StatsByWorkspace all) {
  AllUploadStats stats;
  for (auto& [workspace, one] : all) {
    sum_up(stats.total, one);
    stats.workspaces.emplace_back(workspace, one);
  }
  return stats;
}

}  // namespace restante
