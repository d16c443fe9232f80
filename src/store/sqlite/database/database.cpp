#include "store/sqlite/database/database.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace restante::sqlite {
namespace {

// A backup tool or an operator's sqlite3 may hold the lock for a moment.
constexpr int kBusyMillis = 5000;

constexpr const char* kCommonPragmas =
    "PRAGMA foreign_keys = OFF;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF;";

// secure_delete is on in Debian's build and makes deletes eleven times slower. The database holds nothing that must be
// overwritten.
constexpr const char* kWriterPragmas =
    "PRAGMA synchronous = FULL;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA cache_size = -16000;"
    "PRAGMA journal_size_limit = 67108864;";

// In SQLite `$1` would be a name; `?1` is the first value. Every writer already has the only lock.
std::string text_for_sqlite(std::string_view sql) {
  constexpr std::string_view lock = " FOR UPDATE";
  if (sql.ends_with(lock)) sql.remove_suffix(lock.size());
  std::string text(sql);
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '$' && text[i + 1] >= '1' && text[i + 1] <= '9') text[i] = '?';
  }
  return text;
}

}  // namespace

Statement::Statement(Database& database, sqlite3_stmt* handle, sqlite3_destructor_type keep,
                     std::span<const SqlValue> values)
    : database_(database), handle_(handle) {
  int at = 0;
  for (const SqlValue& value : values) bind(++at, value, keep);
}

Statement::~Statement() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.raise(code);
  return false;
}

// sqlite3_column_text() would copy the value to end it with a zero byte.
std::string_view Statement::view(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  if (!data) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

const char* Statement::data(int column, std::size_t size) const {
  const void* data = sqlite3_column_blob(handle_, column);
  if (!data || static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)) != size) {
    throw Unavailable(fmt::format("column {} of a row does not hold {} bytes", column, size));
  }
  return static_cast<const char*>(data);
}

void Statement::bind(int at, const SqlValue& value, sqlite3_destructor_type keep) {
  const auto code = [&] {
    if (value.is_null()) return sqlite3_bind_null(handle_, at);
    switch (value.kind()) {
      case SqlValue::Kind::real:
        return sqlite3_bind_double(handle_, at, value.real());
      case SqlValue::Kind::text:
        return sqlite3_bind_text64(handle_, at, value.bytes().data(), value.bytes().size(), keep, SQLITE_UTF8);
      case SqlValue::Kind::bytes:
      case SqlValue::Kind::uuid:
        return sqlite3_bind_blob64(handle_, at, value.bytes().data(), value.bytes().size(), keep);
      default:
        return sqlite3_bind_int64(handle_, at, value.integer());
    }
  }();
  if (code != SQLITE_OK) database_.raise(code);
}

Database::Database(const std::string& path, Mode mode, Health& health) : health_(health) {
  // Read-only connections open the file for writing too: in WAL mode even a reader writes the shared index.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  try {
    if (const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, gathering_vfs()); code != SQLITE_OK)
      raise(code);
    sqlite3_busy_timeout(handle_, kBusyMillis);
    execute(kCommonPragmas);
    execute(mode == Mode::read_write ? kWriterPragmas : "PRAGMA query_only = ON;");
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() { close(); }

void Database::close() {
  for (auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  prepared_.clear();
  sqlite3_close(handle_);
}

void Database::execute(const std::string& script) {
  if (const int code = sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK) raise(code);
}

std::size_t Database::read_blob(const char* table, const char* column, std::int64_t row, std::size_t at,
                                std::span<char> into) {
  sqlite3_blob* opened = nullptr;
  const int code = sqlite3_blob_open(handle_, "main", table, column, row, 0, &opened);
  const std::unique_ptr<sqlite3_blob, int (*)(sqlite3_blob*)> closing(opened, sqlite3_blob_close);
  if (code != SQLITE_OK) raise(code);
  const auto size = static_cast<std::size_t>(sqlite3_blob_bytes(opened));
  if (at >= size) return 0;
  const std::size_t count = std::min(into.size(), size - at);
  const int read = sqlite3_blob_read(opened, into.data(), static_cast<int>(count), static_cast<int>(at));
  if (read != SQLITE_OK) raise(read);
  return count;
}

const SqlDialect& Database::dialect() const {
  static constexpr SqlDialect words{
      .greatest = "max",
      .least = "min",
      .position = "rowid",
      .select_content = "SELECT content FROM upload_contents WHERE id = p.content_row",
      .names_indexes = true,
  };
  return words;
}

void Database::visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) {
  Statement row(*this, prepare(sql), SQLITE_STATIC, values);
  while (row.step() && visit(row)) continue;
}

void Database::rollback() noexcept {
  if (in_transaction()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

bool Database::has_moved() {
  int moved = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0 || log_has_moved();
}

// SQLite checks its main file only, and would continue to write to a log that was deleted or replaced.
bool Database::log_has_moved() {
  struct stat now{};
  const bool there = ::stat(sqlite3_filename_wal(sqlite3_db_filename(handle_, "main")), &now) == 0;
  if (log_inode_ == 0 && there) log_inode_ = now.st_ino;
  return log_inode_ != 0 && (!there || now.st_ino != log_inode_);
}

void Database::watch_log(int* pages) {
  const auto hook = [](void* to, sqlite3*, const char*, int count) {
    *static_cast<int*>(to) = count;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle_, hook, pages);
  (void)log_has_moved();  // remembers the log file, so that a later change is noticed
}

void Database::watch_table(const char* table, bool* changed) {
  watched_table_ = table;
  watched_changed_ = changed;
  const auto hook = [](void* of, int, const char*, const char* changed_table, sqlite3_int64) {
    const auto& database = *static_cast<Database*>(of);
    if (database.watched_table_ == changed_table) *database.watched_changed_ = true;
  };
  sqlite3_update_hook(handle_, hook, this);
}

int Database::checkpoint(Checkpoint how) {
  const int mode = how == Checkpoint::passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
  int pages = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", mode, &pages, &moved);
  // When readers are busy, the rest is copied next time.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) raise(code);
  return pages - moved;
}

void Database::raise(int code) {
  // sqlite3_system_errno() has the errno of a failed statement, but not of a failed commit.
  const int system = errno;
  const std::string what = fmt::format("SQLite: {} ({})", handle_ ? sqlite3_errmsg(handle_) : "no memory", code);
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      throw ConstraintFailed(what);
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      throw std::logic_error(what);
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_FULL:
      throw StorageFull(what);
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_NOMEM) throw std::bad_alloc();
      // The frames of this transaction may reach the disk or not. No later one relies on them: it writes the same
      // part of the log again.
      if (code == SQLITE_IOERR_FSYNC && log_sync_found_no_room()) throw OutcomeUnknown(what);
      // SQLite detects ENOSPC at a write only; with quotas and the shared index it reports an I/O error. Any other
      // failed sync is a failure with any errno.
      if ((system == ENOSPC || system == EDQUOT) && code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC) {
        throw StorageFull(what);
      }
      [[fallthrough]];
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      health_.fail(what);
      break;
    default:
      break;
  }
  throw Unavailable(what);
}

sqlite3_stmt* Database::prepare(std::string_view sql) {
  if (const auto found = prepared_.find(sql); found != prepared_.end()) {
    assert(!sqlite3_stmt_busy(found->second));
    return found->second;
  }
  sqlite3_stmt* statement = nullptr;
  const std::string text = text_for_sqlite(sql);
  const int code = sqlite3_prepare_v3(handle_, text.data(), static_cast<int>(text.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) raise(code);
  prepared_.emplace(sql, statement);
  return statement;
}

}  // namespace restante::sqlite
