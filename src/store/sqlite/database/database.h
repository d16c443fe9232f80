// Database: one SQLite connection and its prepared statements. SQL text is prepared once and kept; values are bound,
// never pasted. A placeholder is $1 or ?; `FOR UPDATE` at the end of a text is ignored, because there is one writer.
// Belongs to one thread at a time. Throws StorageFull when the disk is full, ConstraintFailed when a rule
// of the schema was broken, OutcomeUnknown when a sync of the log found no room, and Unavailable for everything else;
// an I/O error or damage is recorded in Health first.
#pragma once
#include <sqlite3.h>

#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/sql/reader.h"
#include "store/sqlite/database/health.h"

namespace restante::sqlite {

// A bug of ours: the API layer validates everything that the schema's CHECKs test again.
class ConstraintFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

using restante::Bytes;

class Database;

// A statement in use, and the row that it is at. The destructor resets it for its next use.
class Statement final : public SqlRow {
 public:
  // `keep`: whether SQLite copies each value or uses the caller's memory.
  Statement(Database& database, sqlite3_stmt* handle, sqlite3_destructor_type keep, std::span<const SqlValue> values);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds one more value, for statements whose number of values is known only at run time. Copied.
  void set(int at, const SqlValue& value) { bind(at, value, SQLITE_TRANSIENT); }

  // True while there is a row.
  bool step();
  // The first row, of a statement that always has one.
  const Statement& front() {
    step();
    return *this;
  }
  // Steps through all rows: `for (const Statement& row : database.query(…))`.
  class Iterator {
   public:
    explicit Iterator(Statement& statement) : statement_(statement), more_(statement.step()) {}
    const Statement& operator*() const { return statement_; }
    void operator++() { more_ = statement_.step(); }
    bool operator==(std::default_sentinel_t) const { return !more_; }

   private:
    Statement& statement_;
    bool more_;
  };
  Iterator begin() { return Iterator(*this); }
  static std::default_sentinel_t end() { return {}; }

  bool is_null(int column) const override { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const override { return sqlite3_column_int64(handle_, column); }
  double real(int column) const override { return sqlite3_column_double(handle_, column); }
  bool boolean(int column) const override { return integer(column) != 0; }
  Time time(int column) const override { return Time(std::chrono::microseconds(integer(column))); }
  std::string_view view(int column) const override;

 private:
  const char* data(int column, std::size_t size) const override;
  void bind(int at, const SqlValue& value, sqlite3_destructor_type keep);

  Database& database_;
  sqlite3_stmt* handle_;
};

class Database final : public SqlReader {
 public:
  enum class Mode { read_write, read_only };

  // The file must exist.
  Database(const std::string& path, Mode mode, Health& health);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs a statement that returns no rows.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    run_values(sql, sql_values(args...));
  }
  // The same; returns how many rows it changed.
  template <class... Args>
  std::int64_t change(std::string_view sql, const Args&... args) {
    const std::int64_t before = total_changes();
    run(sql, args...);
    return total_changes() - before;
  }
  // Returns a statement with its values bound; the caller steps through its rows.
  template <class... Args>
  Statement query(std::string_view sql, const Args&... args) {
    return Statement(*this, prepare(sql), SQLITE_TRANSIENT, sql_values(args...));
  }
  const SqlDialect& dialect() const override;
  void run_values(std::string_view sql, std::span<const SqlValue> values) {
    Statement(*this, prepare(sql), SQLITE_STATIC, values).step();
  }
  void visit_rows(std::string_view sql, std::span<const SqlValue> values, const VisitRow& visit) override;
  // Reads part of one value without loading the rest. Returns the number of bytes read. The row must exist: the caller
  // keeps a statement open on it.
  std::size_t read_blob(const char* table, const char* column, std::int64_t row, std::size_t at, std::span<char> into);
  // Several statements in one text, without values.
  void execute(const std::string& script);

  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  // Ends the running statement, which throws. From any thread.
  void interrupt() { sqlite3_interrupt(handle_); }
  // Rolls back the open transaction, if there is one.
  void rollback() noexcept;
  // The INTEGER PRIMARY KEY of the row that was inserted last.
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  // Rows that the last statement changed, and rows changed since the connection was opened, also by triggers.
  std::int64_t last_changes() const { return sqlite3_changes64(handle_); }
  std::int64_t total_changes() const { return sqlite3_total_changes64(handle_); }
  bool is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }
  // Whether the file under our path, or the write-ahead log beside it, is no longer the one we opened.
  bool has_moved();
  // After each commit, stores the number of pages in the write-ahead log in `pages`. Replaces SQLite's own checkpoints.
  void watch_log(int* pages);
  // Sets the flag when a row of the table is changed, committed or not. At most one table; it must have rowids.
  void watch_table(const char* table, bool* changed);
  enum class Checkpoint { passive, truncate };
  // Returns how many pages of the log are not copied yet.
  int checkpoint(Checkpoint how);

  [[noreturn]] void raise(int code);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  sqlite3_stmt* prepare(std::string_view sql);
  void close();
  bool log_has_moved();

  Health& health_;
  sqlite3* handle_ = nullptr;
  std::uint64_t log_inode_ = 0;  // 0: not seen yet
  std::string watched_table_;
  bool* watched_changed_ = nullptr;
  std::unordered_map<std::string, sqlite3_stmt*, TextHash, std::equal_to<>> prepared_;
};

// A SQLite VFS that buffers writes to the write-ahead log; every Database uses it. SQLite writes each page of a
// transaction with two small calls. This VFS collects them and writes them with one large call before the file is read
// or synced. Nothing else changes: a commit is still answered after its sync, a failed write is reported by that sync,
// and other files use SQLite's own functions. Returns its name, for opening databases. Registers it with SQLite on the
// first call. Thread-safe.
const char* gathering_vfs();  // log_file.cpp
// Whether the last sync of a log on this thread failed because the disk, or the quota, is full. Some file systems find
// that out only then. Answers once for each failed sync.
bool log_sync_found_no_room();  // log_file.cpp

}  // namespace restante::sqlite
