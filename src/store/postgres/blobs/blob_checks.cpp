#include "model/blob_check.h"

#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

const std::string kSelectCheck =
    "SELECT state, mend, begun_at, worker, worker_until, progress, findings, ended_at FROM blob_checks";

constexpr const char* kPutCheck =
    "INSERT INTO blob_checks (state, mend, begun_at, worker, worker_until, progress, findings) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7) "
    "ON CONFLICT (id) DO UPDATE SET "
    "state = excluded.state, mend = excluded.mend, begun_at = excluded.begun_at, worker = excluded.worker, "
    "worker_until = excluded.worker_until, progress = excluded.progress, findings = excluded.findings, "
    "ended_at = NULL";

constexpr const char* kUpdateCheck =
    "UPDATE blob_checks "
    "SET state = $3, worker_until = $4, progress = $5, findings = coalesce($6, findings), ended_at = $7 "
    "WHERE worker = $1 AND begun_at = $2 AND state = 'running'";

std::optional<BlobCheckRow> check_of(const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  const Row row = rows.front();
  return BlobCheckRow{parse_blob_check_state(row.view(0)).value(),
                      row.boolean(1),
                      row.time(2),
                      row.id<WorkerId>(3),
                      row.time(4),
                      row.text(5),
                      row.text(6),
                      row.optional_time(7)};
}

// When two servers begin the first check at the same time, one waits here and finds the row of the other.
std::optional<BlobCheckRow> lock_check(Transaction& transaction) {
  transaction.connection().query("LOCK TABLE blob_checks IN SHARE ROW EXCLUSIVE MODE");
  return check_of(transaction.connection().query(kSelectCheck));
}

Result<BlobCheckRow> begin(Transaction& transaction, const NewBlobCheck& wanted, Time now) {
  auto begun = restante::begin_blob_check(lock_check(transaction), wanted, now);
  if (!begun) return begun;
  transaction.run(kPutCheck, name_of(begun->state), begun->mend, begun->begun_at, begun->worker, begun->worker_until,
                  begun->progress, begun->findings);
  return begun;
}

bool write_update(Transaction& transaction, const BlobCheckUpdate& update) {
  const auto findings = update.findings ? std::optional<std::string_view>(*update.findings) : std::nullopt;
  return transaction.change(kUpdateCheck, update.worker, update.begun_at, name_of(update.state), update.worker_until,
                            update.progress, findings, update.ended_at) > 0;
}

}  // namespace

std::optional<BlobCheckRow> SharedStore::find_blob_check() {
  require_uploads();
  return pool_.use([](Connection& connection) { return check_of(connection.query(kSelectCheck)); });
}

Commit<Result<BlobCheckRow>> SharedStore::begin_blob_check(const NewBlobCheck& wanted, Time now) {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, sizeof wanted + wanted.progress.size() + wanted.findings.size(),
                                  [wanted, now](Transaction& transaction) { return begin(transaction, wanted, now); });
}

Commit<Result<bool>> SharedStore::update_blob_check(BlobCheckUpdate update) {
  require_uploads();
  const std::size_t bytes = sizeof update + update.progress.size() + (update.findings ? update.findings->size() : 0);
  return maintenance_lane_.submit({.alone = true}, bytes,
                                  [update = std::move(update)](Transaction& transaction) -> Result<bool> {
                                    return write_update(transaction, update);
                                  });
}

}  // namespace restante::postgres
