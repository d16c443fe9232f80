#include "store/sql/trial_write.h"

namespace restante {
namespace {

// Longer than SQLite waits for a lock: then the answer is the write's own.
constexpr auto kPatience = std::chrono::seconds(6);

}  // namespace

Commit<Result<void>> begin_trial_write(CommitQueue<SqlTransaction, WriteHints>& queue, int id) {
  return queue.submit(WriteHints{.alone = true}, 1, [id](SqlTransaction& transaction) -> Result<void> {
    transaction.run(
        "INSERT INTO trial_writes (id, number) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET number = "
        "trial_writes.number + 1",
        id);
    return {};
  });
}

void require_written(Commit<Result<void>> trial) {
  if (!trial.wait_for(kPatience)) throw Unavailable("a write has had no answer for some seconds");
  trial.take().value();
}

}  // namespace restante
