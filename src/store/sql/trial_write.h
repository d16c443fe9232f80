// A trial write: a small write that is committed like any other, so that it fails when they fail: when the disk is
// full, when another program holds the database's lock, when the database can only be read.
#pragma once
#include "store/commit_queue.h"
#include "store/sql/transaction.h"

namespace restante {

// Writes at the same time should have different ids: they do not wait for each other then.
Commit<Result<void>> begin_trial_write(CommitQueue<SqlTransaction, WriteHints>& queue, int id);
// Throws what the write failed with, and Unavailable when it is not answered for some seconds.
void require_written(Commit<Result<void>> trial);

}  // namespace restante
