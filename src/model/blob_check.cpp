#include "model/blob_check.h"

#include "model/errors.h"

namespace restante {

Result<BlobCheckRow> begin_blob_check(const std::optional<BlobCheckRow>& was, const NewBlobCheck& wanted, Time now) {
  const bool running =
      was && was->state == BlobCheckState::running && was->worker_until > now && was->worker != wanted.gone;
  if (running) return errors::blob_check_running;
  return BlobCheckRow{BlobCheckState::running, wanted.mend,     now, wanted.worker, wanted.worker_until,
                      wanted.progress,         wanted.findings, {}};
}

}  // namespace restante
