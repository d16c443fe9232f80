#include "store/sqlite/database/database.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "store/sqlite/database/log_file.h"

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

}  // namespace

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

std::string_view Statement::view(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (!text) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  if (!data) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

void Statement::copy_bytes(int column, std::uint8_t* out, std::size_t size) const {
  const void* data = sqlite3_column_blob(handle_, column);
  if (!data || static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)) != size) {
    throw Unavailable(fmt::format("column {} of a row does not hold {} bytes", column, size));
  }
  std::memcpy(out, data, size);
}

void Statement::require(int code) {
  if (code != SQLITE_OK) database_.raise(code);
}

void Statement::bind(int at, std::nullopt_t, sqlite3_destructor_type) { require(sqlite3_bind_null(handle_, at)); }

void Statement::bind(int at, std::int64_t value, sqlite3_destructor_type) {
  require(sqlite3_bind_int64(handle_, at, value));
}

void Statement::bind(int at, double value, sqlite3_destructor_type) {
  require(sqlite3_bind_double(handle_, at, value));
}

void Statement::bind(int at, std::string_view value, sqlite3_destructor_type keep) {
  // A null pointer would be stored as NULL, and an empty view may carry one.
  const char* data = value.empty() ? "" : value.data();
  require(sqlite3_bind_text64(handle_, at, data, value.size(), keep, SQLITE_UTF8));
}

void Statement::bind_blob(int at, const std::uint8_t* data, std::size_t size, sqlite3_destructor_type keep) {
  require(sqlite3_bind_blob64(handle_, at, data, size, keep));
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
      // SQLite detects ENOSPC at a write only; with quotas and the shared index it reports an I/O error. A failed sync
      // is a failure with any errno.
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
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) raise(code);
  prepared_.emplace(sql, statement);
  return statement;
}

}  // namespace restante::sqlite
