#include "model/blob_move.h"

#include "model/errors.h"

namespace restante {

Result<BegunBlobMove> begin_blob_move(const std::optional<BlobMove>& was, Place from, Place to, std::int64_t rate,
                                      Time now) {
  using Step = BegunBlobMove::Step;
  if (!was || was->phase == BlobPhase::finished) {
    return BegunBlobMove{{from, to, BlobPhase::both, rate, now, now}, Step::begun};
  }
  if (was->to == to) {
    BlobMove same = *was;
    same.rate = rate;
    return BegunBlobMove{same, Step::repeated};
  }
  if (was->from == to && was->phase == BlobPhase::both) {
    return BegunBlobMove{{was->to, to, BlobPhase::both, rate, now, now}, Step::turned};
  }
  return Error(errors::blob_move_under_way, {{"from", std::string(name_of(was->from))},
                                             {"to", std::string(name_of(was->to))},
                                             {"phase", std::string(name_of(was->phase))}});
}

}  // namespace restante
