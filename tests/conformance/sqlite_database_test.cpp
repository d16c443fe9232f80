// One connection to SQLite: which failures are whose, and which changes of the files beside it are noticed.
#include "store/sqlite/database/database.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <new>

#include "base/error.h"
#include "base/test_folder.h"
#include "faults.h"

namespace restante::testing {
namespace {

using sqlite::Database;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SqliteDatabase : public ::testing::Test {
 protected:
  SqliteDatabase() { std::ofstream(file, std::ios::app).flush(); }

  std::unique_ptr<Database> open(Database::Mode mode = Database::Mode::read_write) {
    auto database = std::make_unique<Database>(file, mode, health);
    database->query("PRAGMA journal_mode = WAL").step();
    return database;
  }
  template <class Kind>
  void expect_kind(Database& database, std::vector<int> codes) {
    for (const int code : codes) EXPECT_THROW(database.raise(code), Kind) << code;
  }

  TestFolder directory;
  const std::string file = (directory / "test.db").string();
  sqlite::Health health;
};

TEST_F(SqliteDatabase, EveryFailureOfSqliteHasOneType) {
  const auto database = open();
  expect_kind<sqlite::ConstraintFailed>(*database, {SQLITE_CONSTRAINT, SQLITE_CONSTRAINT_UNIQUE});
  expect_kind<std::logic_error>(*database, {SQLITE_TOOBIG, SQLITE_MISMATCH, SQLITE_MISUSE, SQLITE_RANGE});
  expect_kind<std::bad_alloc>(*database, {SQLITE_NOMEM, SQLITE_IOERR_NOMEM});
  expect_kind<StorageFull>(*database, {SQLITE_FULL});
  expect_kind<Unavailable>(*database, {SQLITE_BUSY, SQLITE_LOCKED, SQLITE_SCHEMA, SQLITE_CANTOPEN});
  EXPECT_TRUE(health.ok()) << "none of these makes the database unusable";
  for (const int code : {SQLITE_IOERR, SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC, SQLITE_CORRUPT, SQLITE_NOTADB}) {
    sqlite::Health its_own;
    Database one(file, Database::Mode::read_only, its_own);
    errno = EIO;
    EXPECT_THROW(one.raise(code), Unavailable) << code;
    EXPECT_FALSE(its_own.ok()) << code;
  }
  for (const int error : {ENOSPC, EDQUOT}) {
    sqlite::Health its_own;
    Database one(file, Database::Mode::read_only, its_own);
    errno = error;
    EXPECT_THROW(one.raise(SQLITE_IOERR_SHMSIZE), StorageFull) << "the shared index has no room";
    EXPECT_TRUE(its_own.ok());
    for (const int code : {SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC}) {
      sqlite::Health of_the_sync;
      Database other(file, Database::Mode::read_only, of_the_sync);
      errno = error;
      EXPECT_THROW(other.raise(code), Unavailable) << code;
      EXPECT_FALSE(of_the_sync.ok()) << code;
    }
  }
}

TEST_F(SqliteDatabase, AnExhaustedQuotaIsAFullDiskExceptInASyncOfTheDatabaseItself) {
  const auto database = open();
  database->execute("CREATE TABLE t (n)");
  {
    const Fault fault(Call::write, EDQUOT);
    EXPECT_THROW(database->execute("INSERT INTO t VALUES (1)"), StorageFull);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_TRUE(health.ok());
  EXPECT_NO_THROW(database->execute("INSERT INTO t VALUES (1)")) << "works again once there is room";
  for (const int error : {ENOSPC, EDQUOT}) {
    sqlite::Health its_own;
    Database one(file, Database::Mode::read_write, its_own);
    {
      const Fault fault(Call::sync, error);
      EXPECT_THROW(one.execute("INSERT INTO t VALUES (2)"), OutcomeUnknown) << error;
    }
    EXPECT_TRUE(its_own.ok()) << "the same part of the log is written again";
    const Fault fault(Call::sync, error, 1);  // the first sync is of the log
    EXPECT_THROW(one.checkpoint(Database::Checkpoint::passive), Unavailable) << error;
    EXPECT_FALSE(its_own.ok()) << "pages that could not be synced may be lost, whatever the reason";
  }
}

TEST_F(SqliteDatabase, AMissingFileIsNotCreated) {
  EXPECT_THROW(Database((directory / "none.db").string(), Database::Mode::read_write, health), Unavailable);
  EXPECT_FALSE(std::filesystem::exists(directory / "none.db"));
}

TEST_F(SqliteDatabase, AValueThatIsTooLargeIsALogicErrorAndLeavesTheConnectionUsable) {
  const auto database = open();
  const std::string_view huge("x", std::size_t{2'000'000'000});  // refused by its length: it is not read
  EXPECT_THROW((void)database->query("SELECT ?", huge), std::logic_error);
  EXPECT_TRUE(database->query("SELECT ?", "small").step());
}

TEST_F(SqliteDatabase, AColumnOfTheWrongTypeIsNotReadAsAnotherType) {
  const auto database = open();
  for (const char* value : {"NULL", "x'00'", "'text'", "zeroblob(17)"}) {
    auto row = database->query(std::string("SELECT ") + value);
    ASSERT_TRUE(row.step());
    EXPECT_THAT([&] { (void)row.id<Id<struct Any>>(0); },
                ThrowsMessage<Unavailable>(HasSubstr("does not hold 16 bytes")))
        << value;
  }
}

TEST_F(SqliteDatabase, APartOfAValueIsReadWithoutTheRest) {
  const auto database = open();
  std::string value(200'000, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 / 3);
  database->run("CREATE TABLE a (x BLOB)");
  database->run("INSERT INTO a VALUES (?)", sqlite::Bytes{value});
  std::string part(5000, '\0');
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{150'001}}) {
    EXPECT_EQ(database->read_blob("a", "x", 1, at, part), part.size());
    EXPECT_TRUE(part == value.substr(at, part.size())) << at;
  }
  EXPECT_EQ(database->read_blob("a", "x", 1, value.size() - 3, part), 3u);
  EXPECT_EQ(database->read_blob("a", "x", 1, value.size(), part), 0u);
  EXPECT_THROW(database->read_blob("a", "x", 2, 0, part), Unavailable) << "no such row";
  EXPECT_TRUE(health.ok());
}

TEST_F(SqliteDatabase, AValueWhosePagesAreLostIsDamageAndNotEmpty) {
  {
    const auto database = open();
    database->run("CREATE TABLE a (x BLOB)");
    database->run("INSERT INTO a VALUES (?)", sqlite::Bytes{std::string(200'000, 'x')});
    database->checkpoint(Database::Checkpoint::truncate);
  }
  {
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(std::streamoff{10} * 4096);
    damaged << std::string(std::size_t{10} * 4096, '\0');  // in the middle: the number of the next page is lost
  }
  const auto database = open();
  std::string part(100, '\0');
  EXPECT_THROW(database->read_blob("a", "x", 1, 150'000, part), Unavailable);
  EXPECT_FALSE(health.ok());
}

TEST_F(SqliteDatabase, AWalThatWasDeletedOrReplacedIsNoticed) {
  const std::string wal = file + "-wal";
  for (const bool replaced : {false, true}) {
    const auto database = open();
    database->execute("CREATE TABLE IF NOT EXISTS t (n); INSERT INTO t VALUES (1)");
    EXPECT_FALSE(database->has_moved());
    std::filesystem::rename(wal, wal + ".old");
    if (replaced) std::ofstream(wal) << "another one";
    EXPECT_TRUE(database->has_moved());
    std::filesystem::remove(wal);
    std::filesystem::rename(wal + ".old", wal);
    EXPECT_FALSE(database->has_moved()) << "restored, it is the same file";
  }
}

TEST_F(SqliteDatabase, AWalThatCannotBeOpenedIsUnavailable) {
  open()->execute("CREATE TABLE t (n)");
  std::filesystem::create_directory(file + "-wal");
  EXPECT_THROW(Database(file, Database::Mode::read_write, health).execute("INSERT INTO t VALUES (1)"), Unavailable);
}

// With little memory SQLite writes pages to the write-ahead log early, and again when they change before the commit.
TEST_F(SqliteDatabase, PagesThatAreOverwrittenBeforeTheCommitHaveTheLastContent) {
  const auto database = open();
  database->execute(
      "PRAGMA cache_size = 10; PRAGMA cache_spill = 10; CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)");
  database->execute(
      "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) "
      "INSERT INTO t SELECT i, zeroblob(2000) FROM n; UPDATE t SET bytes = randomblob(2000) WHERE id % 7 = 0; "
      "UPDATE t SET bytes = CAST(id AS TEXT); COMMIT");
  Database reader(file, Database::Mode::read_only, health);
  auto row = reader.query("SELECT count(*) FROM t WHERE bytes = CAST(id AS TEXT)");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 400);
  auto sound = reader.query("PRAGMA integrity_check");
  ASSERT_TRUE(sound.step());
  EXPECT_EQ(sound.text(0), "ok");
}

TEST_F(SqliteDatabase, WithoutAWalNothingHasMoved) {
  Database database(file, Database::Mode::read_write, health);
  EXPECT_FALSE(std::filesystem::exists(file + "-wal"));
  EXPECT_FALSE(database.has_moved());
}

TEST_F(SqliteDatabase, ACheckpointEmptiesTheWalAndOneOfAnotherProcessIsNoFailure) {
  const auto database = open();
  int pages = 0;
  database->watch_log(&pages);
  database->execute("CREATE TABLE t (bytes); INSERT INTO t VALUES (zeroblob(1000000))");
  EXPECT_GT(pages, 200);
  int locked[2];
  int ended[2];
  ASSERT_EQ(::pipe(locked), 0);
  ASSERT_EQ(::pipe(ended), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // The byte of the shared index that SQLite locks for a checkpoint.
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_start = 121;
    lock.l_len = 1;
    const bool held = ::fcntl(::open((file + "-shm").c_str(), O_RDWR), F_SETLK, &lock) == 0;
    if (::write(locked[1], held ? "y" : "n", 1) != 1) ::_exit(1);
    char byte = 0;
    ::_exit(::read(ended[0], &byte, 1) == 1 ? 0 : 1);
  }
  char held = 0;
  ASSERT_EQ(::read(locked[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_NO_THROW(database->checkpoint(Database::Checkpoint::passive));
  EXPECT_LT(std::filesystem::file_size(file), 100'000u) << "the other process does the checkpoint";
  EXPECT_EQ(::write(ended[1], "x", 1), 1);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {locked[0], locked[1], ended[0], ended[1]}) ::close(fd);
  database->checkpoint(Database::Checkpoint::passive);
  EXPECT_GT(std::filesystem::file_size(file), 1'000'000u);
  EXPECT_GT(std::filesystem::file_size(file + "-wal"), 1'000'000u) << "kept, to be overwritten";
  database->checkpoint(Database::Checkpoint::truncate);
  EXPECT_EQ(std::filesystem::file_size(file + "-wal"), 0u);
}

}  // namespace
}  // namespace restante::testing
