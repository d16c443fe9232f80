#include "model/blob_check.h"
#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

constexpr const char* kSelectCheck =
    "SELECT state, mend, begun_at, worker, worker_until, progress, findings, ended_at FROM blob_checks";

constexpr const char* kPutCheck =
    "INSERT OR REPLACE INTO blob_checks "
    "(id, state, mend, begun_at, worker, worker_until, progress, findings) "
    "VALUES (1, ?, ?, ?, ?, ?, ?, ?)";

constexpr const char* kUpdateCheck =
    "UPDATE blob_checks "
    "SET state = ?3, worker_until = ?4, progress = ?5, findings = coalesce(?6, findings), ended_at = ?7 "
    "WHERE worker = ?1 AND begun_at = ?2 AND state = 'running'";

std::optional<BlobCheckRow> find_check(Database& database) {
  Statement row = database.query(kSelectCheck);
  if (!row.step()) return std::nullopt;
  return BlobCheckRow{parse_blob_check_state(row.view(0)).value(),
                      row.integer(1) != 0,
                      row.time(2),
                      row.id<WorkerId>(3),
                      row.time(4),
                      row.text(5),
                      row.text(6),
                      row.optional_time(7)};
}

Result<BlobCheckRow> begin(Database& database, const NewBlobCheck& wanted, Time now) {
  auto begun = restante::begin_blob_check(find_check(database), wanted, now);
  if (!begun) return begun;
  database.run(kPutCheck, name_of(begun->state), begun->mend ? 1 : 0, begun->begun_at, begun->worker,
               begun->worker_until, begun->progress, begun->findings);
  return begun;
}

bool apply(Database& database, const BlobCheckUpdate& update) {
  const std::int64_t before = database.total_changes();
  database.run(kUpdateCheck, update.worker, update.begun_at, name_of(update.state), update.worker_until,
               update.progress, update.findings, update.ended_at);
  return database.total_changes() > before;
}

}  // namespace

std::optional<BlobCheckRow> EmbeddedStore::find_blob_check() {
  require_uploads();
  auto reader = readers_.take();
  return find_check(*reader);
}

Commit<Result<BlobCheckRow>> EmbeddedStore::begin_blob_check(const NewBlobCheck& wanted, Time now) {
  require_uploads();
  return writer_.submit(sizeof wanted + wanted.progress.size() + wanted.findings.size(),
                        [wanted, now](Database& database) { return begin(database, wanted, now); });
}

Commit<Result<bool>> EmbeddedStore::update_blob_check(BlobCheckUpdate update) {
  require_uploads();
  const std::size_t bytes = sizeof update + update.progress.size() + (update.findings ? update.findings->size() : 0);
  return writer_.submit(
      bytes, [update = std::move(update)](Database& database) -> Result<bool> { return apply(database, update); });
}

}  // namespace restante::sqlite
