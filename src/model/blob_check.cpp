#include "model/blob_check.h"

#include "model/errors.h"

namespace restante {

std::string_view name_of(BlobCheckState state) {
  switch (state) {
    case BlobCheckState::running:
      return "running";
    case BlobCheckState::done:
      return "done";
    case BlobCheckState::stopped:
      return "stopped";
    case BlobCheckState::failed:
      return "failed";
  }
  return "";
}

std::optional<BlobCheckState> parse_blob_check_state(std::string_view text) {
  for (const BlobCheckState state :
       {BlobCheckState::running, BlobCheckState::done, BlobCheckState::stopped, BlobCheckState::failed}) {
    if (name_of(state) == text) return state;
  }
  return std::nullopt;
}

Result<BlobCheckRow> begin_blob_check(const std::optional<BlobCheckRow>& was, const NewBlobCheck& wanted, Time now) {
  const bool running =
      was && was->state == BlobCheckState::running && was->worker_until > now && was->worker != wanted.gone;
  if (running) return errors::blob_check_running;
  return BlobCheckRow{BlobCheckState::running, wanted.mend,     now, wanted.worker, wanted.worker_until,
                      wanted.progress,         wanted.findings, {}};
}

}  // namespace restante
