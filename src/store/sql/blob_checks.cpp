#include "model/blob_check.h"

#include "store/sql/store.h"

namespace restante {
namespace {

constexpr const char* kSelectCheck =
    "SELECT state, mend, begun_at, worker, worker_until, progress, findings, ended_at FROM blob_checks";

constexpr const char* kPutCheck =
    "INSERT INTO blob_checks (id, state, mend, begun_at, worker, worker_until, progress, findings) "
    "VALUES (1, $1, $2, $3, $4, $5, $6, $7) "
    "ON CONFLICT (id) DO UPDATE SET "
    "state = excluded.state, mend = excluded.mend, begun_at = excluded.begun_at, worker = excluded.worker, "
    "worker_until = excluded.worker_until, progress = excluded.progress, findings = excluded.findings, "
    "ended_at = NULL";

constexpr const char* kUpdateCheck =
    "UPDATE blob_checks "
    "SET state = $3, worker_until = $4, progress = $5, findings = coalesce($6, findings), ended_at = $7 "
    "WHERE worker = $1 AND begun_at = $2 AND state = 'running'";

BlobCheckRow check_of(const SqlRow& row) {
  return {parse_blob_check_state(row.view(0)).value(),
          row.boolean(1),
          row.time(2),
          row.id<WorkerId>(3),
          row.time(4),
          row.text(5),
          row.text(6),
          row.optional_time(7)};
}

Result<BlobCheckRow> begin(SqlTransaction& transaction, const NewBlobCheck& wanted, Time now) {
  // When two servers begin the first check at the same time, one waits here and finds the row of the other.
  transaction.lock_table("blob_checks");
  auto begun = restante::begin_blob_check(transaction.find(check_of, kSelectCheck), wanted, now);
  if (!begun) return begun;
  transaction.run(kPutCheck, name_of(begun->state), begun->mend, begun->begun_at, begun->worker, begun->worker_until,
                  begun->progress, begun->findings);
  return begun;
}

}  // namespace

std::optional<BlobCheckRow> SqlStore::find_blob_check() {
  require_uploads();
  return read([](SqlReader& reader) { return reader.find(check_of, kSelectCheck); });
}

Commit<Result<BlobCheckRow>> SqlStore::begin_blob_check(const NewBlobCheck& wanted, Time now) {
  require_uploads();
  return write(maintenance_hints(), sizeof wanted + wanted.progress.size() + wanted.findings.size(),
               [wanted, now](SqlTransaction& transaction) { return begin(transaction, wanted, now); });
}

Commit<Result<bool>> SqlStore::update_blob_check(BlobCheckUpdate update) {
  require_uploads();
  const std::size_t bytes = sizeof update + update.progress.size() + (update.findings ? update.findings->size() : 0);
  return write(maintenance_hints(), bytes, [update = std::move(update)](SqlTransaction& transaction) -> Result<bool> {
    return transaction.change(kUpdateCheck, update.worker, update.begun_at, name_of(update.state), update.worker_until,
                              update.progress, update.findings, update.ended_at) > 0;
  });
}

}  // namespace restante
