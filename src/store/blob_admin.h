// BlobAdminStore: the administration of blobs: what may be deleted, where blobs are moved, and the check of all blobs.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/blob_check.h"
#include "model/blob_move.h"
#include "store/chunks.h"

namespace restante {

struct OrphanCandidate {
  std::string blob_key;
  Time since;  // it has had no row
};

class BlobAdminStore {
 public:
  virtual ~BlobAdminStore() = default;

  // --- dropped blobs: their last row was deleted. Rows may share a blob. It is listed here when no row names it in
  // either key, in the same transaction.
  // Ordered by key, after `after`. Blobs in `dir` are listed at once: a request that has one open can read it to its
  // end. Blobs in other places are listed only if they were dropped before `remote_before`: until then a request may
  // still read them.
  virtual std::vector<std::string> list_dropped_blobs(int limit, Time remote_before, const std::string& after) = 0;
  // Called once they are deleted from Places.
  virtual Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) = 0;
  // Those of `keys` that a row needs or that are listed as dropped, in the same order. The rest are orphans, if they
  // are old enough.
  virtual std::vector<std::string> known_blobs(std::span<const std::string> keys) = 0;
  // --- orphan candidates: blobs that a sweep found without a row. The next server continues with them.
  virtual std::vector<OrphanCandidate> list_orphan_candidates() = 0;
  // One that is already stored keeps its time. `gone`: deleted, or a row names it by now.
  virtual Commit<Result<void>> change_orphan_candidates(std::vector<OrphanCandidate> found,
                                                        std::vector<std::string> gone) = 0;

  // Blobs in the database itself.
  virtual Chunks& chunks() = 0;

  // --- blob moves
  // The running blob move, or the last one.
  virtual std::optional<BlobMove> find_blob_move() = 0;
  // By the rule of begin_blob_move() in model/blob_move.h. blob_move_under_way.
  virtual Commit<Result<BegunBlobMove>> begin_blob_move(Place from, Place to, std::int64_t rate, Time now) = 0;
  // Changes the phase from `was.phase`. False when the blob move is in another phase by now, or is another blob move.
  virtual Commit<Result<bool>> advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) = 0;
  // Takes or extends the lease of the server that copies. False when another worker has it, or no move was ever begun.
  virtual Commit<Result<bool>> take_blob_move_lease(WorkerId worker, Time until, Time now) = 0;
  // Blobs that rows need and whose key of this role is in `place`, ordered by that key, after `after`. By first key,
  // damaged blobs are left out.
  virtual std::vector<MovingBlob> list_blobs(KeyRole role, Place place, const std::string& after, int limit) = 0;
  // Every row with the old keys of a change gets its new keys. Old keys that no row names any more are listed as
  // dropped. Returns the number of changed rows; rows that were deleted or changed meanwhile are skipped.
  virtual Commit<Result<std::int64_t>> change_blob_keys(std::vector<BlobChange> changes, Time now) = 0;
  // Figures of every place, in the order of kPlaces. Counts rows: for the operator, not for every second.
  virtual std::vector<PlaceFigures> count_blobs() = 0;

  // --- blob checks
  // The running one, or the last one, as its server last wrote it. Its lease shows whether that server still runs it.
  virtual std::optional<BlobCheckRow> find_blob_check() = 0;
  // By the rule of begin_blob_check() in model/blob_check.h. blob_check_running.
  virtual Commit<Result<BlobCheckRow>> begin_blob_check(const NewBlobCheck& wanted, Time now) = 0;
  // False when the check has ended, or another worker has it.
  virtual Commit<Result<bool>> update_blob_check(BlobCheckUpdate update) = 0;
};

}  // namespace restante
