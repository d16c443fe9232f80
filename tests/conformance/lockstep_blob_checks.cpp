#include "lockstep.h"

namespace restante::testing {

void LockstepProgram::check_blobs() {
  std::optional<BlobCheckRow>& row = model_.blob_check;
  EXPECT_EQ(store_->find_blob_check(), row);
  const WorkerId worker = row && one_in(2) ? row->worker : WorkerId::make(now_);
  const Time until = now_ + std::chrono::seconds(pick(100));
  if (!row || one_in(3)) {
    const NewBlobCheck wanted{one_in(2), worker, until,
                              word(),    word(), one_in(8) ? std::optional(worker) : std::nullopt};
    const bool busy = row && !row->ended_at && row->worker_until > now_ && row->worker != wanted.gone;
    const auto begun = store_->begin_blob_check(wanted, now_).take();
    EXPECT_EQ(begun.has_value(), !busy);
    if (!busy) row = {BlobCheckState::running, wanted.mend, now_, worker, until, wanted.progress, wanted.findings, {}};
    return;
  }
  BlobCheckUpdate update{worker, one_in(8) ? now_ : row->begun_at, until, word(), {}, BlobCheckState::running, {}};
  if (one_in(2)) update.findings = word();
  if (one_in(4)) update.state = BlobCheckState::done, update.ended_at = now_;
  const bool kept = !row->ended_at && row->worker == update.worker && row->begun_at == update.begun_at;
  EXPECT_EQ(store_->update_blob_check(update).take().value(), kept);
  if (!kept) return;
  row->worker_until = until;
  row->progress = update.progress;
  row->findings = update.findings.value_or(row->findings);
  row->state = update.state;
  row->ended_at = update.ended_at;
}

}  // namespace restante::testing
