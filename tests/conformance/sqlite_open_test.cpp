#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "backends.h"
#include "base/test_folder.h"
#include "faults.h"
#include "model/errors.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/schema/opening.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

bool happens(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

class SqliteOpen : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(sqlite::Options options = {}) { return sqlite::open(file, options); }
  void edit(const std::string& sql) {
    sqlite::Health health;
    sqlite::Database(file.string(), sqlite::Database::Mode::read_write, health).execute(sql);
  }
  // Takes migrations back, from the newest to the named one.
  void down_to_before(const std::string& name) {
    const auto applied = [&] {
      for (const auto& migration : sqlite::migration_status(file)) {
        if (migration.name == name) return migration.applied_at.has_value();
      }
      return false;
    };
    ASSERT_TRUE(applied());
    while (applied()) ASSERT_TRUE(sqlite::migrate_down(file));
  }
  void make_rows() {
    auto store = open();
    const auto workspace = make_workspace(*store);
    for (int i = 0; i < 300; ++i) store->append_to_inbox(workspace, message(std::string(500, 'x')), at(i));
  }
  // In pages of rows; the schema can be read.
  void damage_rows() {
    make_rows();
    const std::size_t pages = std::filesystem::file_size(file) / 4096;
    ASSERT_GT(pages, 40u);
    std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
    for (std::size_t page = pages - 15; page < pages - 5; ++page) {
      damage.seekp(static_cast<std::streamoff>(page * 4096));
      damage << std::string(200, '\xff');
    }
  }
  WorkspaceId make_workspace(Store& store) { return store.create_workspace({}, at(0)).take()->id; }

  TestFolder directory;
  const std::filesystem::path file = directory / "restante.db";
};

TEST_F(SqliteOpen, ASecondServerOnTheSameDataIsRefusedWithTheProcessThatHoldsTheLock) {
  auto first = open();
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("in use by process " + std::to_string(getpid()))));
  EXPECT_THROW(sqlite::migrate_up(file, at(0)), OpenRefused);
  first.reset();
  EXPECT_NO_THROW(open());
}

TEST_F(SqliteOpen, TheLockOfAProcessThatWasKilledIsFree) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const sqlite::DataLock lock(directory.path());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT([&] { sqlite::DataLock(directory.path()); },
              ThrowsMessage<OpenRefused>(HasSubstr("process " + std::to_string(child))));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(sqlite::DataLock(directory.path()));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SqliteOpen, NoOtherUserMayReadTheFiles) {
  auto store = open();
  make_workspace(*store);
  for (const char* name : {"restante.db", "restante.db-wal", "restante.db-shm", "lock"}) {
    struct stat info{};
    ASSERT_EQ(stat((directory / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(SqliteOpen, AFileThatIsNoDatabaseIsRefusedAndLeftAsItIs) {
  const std::string text = std::string(5000, 'x');
  std::ofstream(file) << text;
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("no database")));
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(SqliteOpen, AForeignDatabaseIsRefusedAndLeftAsItIs) {
  std::ofstream(file, std::ios::app).flush();
  edit("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("not Restante's")));
  EXPECT_NO_THROW(edit("INSERT INTO bookmarks VALUES ('kept')"));
}

TEST_F(SqliteOpen, ADamagedDatabaseIsRefused) {
  damage_rows();
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("damaged")));
}

TEST_F(SqliteOpen, ALargeDatabaseIsServedAtOnceAndItsDamageIsFoundMeanwhile) {
  damage_rows();
  const auto store = open({.now = at(0), .checked_at_open = 0});
  EXPECT_TRUE(happens([&] {
    try {
      store->check();
      return false;
    } catch (const Unavailable& e) {
      EXPECT_THAT(e.what(), ::testing::AnyOf(HasSubstr("damaged"), HasSubstr("malformed")));
      return true;
    }
  }));
  EXPECT_THROW(store->create_workspace({}, at(0)).take(), Unavailable);
}

TEST_F(SqliteOpen, AStoreClosesBeforeItsCheckHasEnded) {
  make_rows();
  for (int i = 0; i < 20; ++i) EXPECT_NO_THROW(open({.now = at(0), .checked_at_open = 0})->check());
}

TEST_F(SqliteOpen, ALostDatabaseIsNeverTakenForANewOne) {
  open().reset();
  std::filesystem::remove(file);
  EXPECT_THAT([&] { open({.now = at(0), .may_create = false}); }, ThrowsMessage<OpenRefused>(HasSubstr("missing")));
  EXPECT_FALSE(std::filesystem::exists(file));
  std::ofstream(file).flush();
  EXPECT_THAT([&] { open({.now = at(0), .may_create = false}); }, ThrowsMessage<OpenRefused>(HasSubstr("empty")));
  EXPECT_NO_THROW(open().reset()) << "a first start that was interrupted begins again";
  std::filesystem::remove(file);
  std::ofstream(file.string() + "-wal") << "a write-ahead log without its database";
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("its log is there")));
}

TEST_F(SqliteOpen, ADirectoryThatIsNotThereIsRefused) {
  EXPECT_THROW(sqlite::open(directory / "nowhere" / "restante.db", {}), OpenRefused);
}

TEST_F(SqliteOpen, ADatabaseThatIsTooNewIsRefusedUnlessItAllowsThisBinary) {
  open().reset();
  edit("INSERT INTO schema_migrations VALUES (900, 'future', 0, 3, x'')");
  EXPECT_NO_THROW(open()) << "its migration allows binaries that know number 3";
  edit("INSERT INTO schema_migrations VALUES (901, 'far_future', 0, 901, x'')");
  EXPECT_THAT([&] { open(); }, ThrowsMessage<OpenRefused>(HasSubstr("too new for this binary")));
}

TEST_F(SqliteOpen, WithoutMigratingItOpensAndReportsWhatIsMissing) {
  sqlite::migrate_up(file, at(0));
  down_to_before("uploads");
  auto store = open({.now = at(0), .migrate = false});
  EXPECT_THAT([&] { store->check(); }, ThrowsMessage<Unavailable>(HasSubstr("uploads")));
}

TEST_F(SqliteOpen, OnceTheTablesAreMadeStagingWorks) {
  sqlite::migrate_up(file, at(0));
  down_to_before("uploads");
  const auto workspace = make_workspace(*open({.now = at(0), .migrate = false}));
  sqlite::migrate_up(file, at(1));
  auto store = open({.now = at(2), .migrate = false});
  EXPECT_TRUE(store->uploads_ready());
  EXPECT_NO_THROW(store->check());
  EXPECT_TRUE(store->stage_uploads(workspace, {testing::file("a.txt")}, until(at(9)), at(2)).take());
  EXPECT_EQ(store->list_waiting(workspace, {}, 10, at(2)).size(), 1u);
}

TEST_F(SqliteOpen, SmallContentIsDeletedWithItsRow) {
  auto store = open();
  const auto workspace = make_workspace(*store);
  const auto recalled = small_file("recalled", "one");
  const auto acked = small_file("acked", "two");
  const auto expired = small_file("expired", "three");
  ASSERT_TRUE(store->stage_uploads(workspace, {recalled, acked, expired}, until(at(10)), at(0)).take());
  const auto contents = [&] {
    sqlite::Health health;
    sqlite::Database database(file.string(), sqlite::Database::Mode::read_only, health);
    auto row = database.query("SELECT count(*) FROM upload_contents");
    return row.step() ? row.integer(0) : -1;
  };
  EXPECT_EQ(contents(), 3);
  ASSERT_TRUE(store->recall_upload(workspace, recalled.id, {}, at(1)).take());
  EXPECT_EQ(contents(), 2);
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(2)).take());
  EXPECT_EQ(contents(), 2);
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(0), 10, at(2)).take()->acked, 1);
  EXPECT_EQ(contents(), 1);
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(0), 10, at(10)).take()->expired.size(), 1u);
  EXPECT_EQ(contents(), 0);
}

TEST_F(SqliteOpen, AfterDownAndUpTheQuotaStartsFromZero) {
  auto terms = until(at(9));
  terms.quota.max_files = 1;
  WorkspaceId workspace;
  {
    auto store = open();
    workspace = make_workspace(*store);
    ASSERT_TRUE(store->stage_uploads(workspace, {testing::file("a")}, terms, at(0)).take());
    EXPECT_ERROR(store->stage_uploads(workspace, {testing::file("b")}, terms, at(0)).take(), errors::quota_exceeded);
  }
  down_to_before("uploads");
  auto store = open();
  EXPECT_TRUE(store->upload_stats(at(0)).workspaces.empty());
  EXPECT_TRUE(store->stage_uploads(workspace, {testing::file("b")}, terms, at(0)).take());
}

TEST_F(SqliteOpen, AfterAFailedSyncTheStoreReportsItUntilItIsOpenedAgain) {
  auto store = open();
  const auto workspace = make_workspace(*store);
  ASSERT_TRUE(store->append_to_inbox(workspace, message("kept"), at(0)).take());
  {
    const Fault fault(Call::sync, EIO);
    EXPECT_THROW(store->append_to_inbox(workspace, message("lost"), at(0)).take(), Unavailable);
  }
  EXPECT_THROW(store->check(), Unavailable);
  EXPECT_THROW(store->append_to_inbox(workspace, message("refused"), at(0)).take(), Unavailable);
  EXPECT_EQ(store->read_inbox(workspace, {})->front().summary, "kept") << "reading goes on";
  store.reset();
  store = open();
  EXPECT_NO_THROW(store->check());
  EXPECT_TRUE(store->append_to_inbox(workspace, message("again"), at(0)).take());
}

TEST_F(SqliteOpen, TheSameKeySettlesAWriteWhoseOutcomeIsUnknown) {
  for (const int error : {EIO, ENOSPC}) {
    auto store = open();
    const auto workspace = make_workspace(*store);
    const Claim claim{sha256("scope " + std::to_string(error)), sha256("request"), at(99)};
    const auto append_once = [&] {
      const ClaimedAnswer<Appended> once{claim, [](const Appended&) { return "answer"; }};
      return store->append_to_inbox(workspace, message("said"), at(0), once).take();
    };
    {
      const Fault fault(Call::sync, error);
      EXPECT_THROW(append_once(), OutcomeUnknown) << error;
    }
    if (error == EIO) {
      EXPECT_THROW(append_once(), Unavailable) << "until a restart";
      store.reset();
      store = open();
    }
    // Now it is stored: by this request, or by the first one, whose answer this one gets.
    const auto second = append_once();
    if (!second) EXPECT_EQ(earlier_answer_of(second), "answer");
    EXPECT_EQ(earlier_answer_of(append_once()), "answer");
    EXPECT_EQ(store->read_inbox(workspace, {})->size(), 1u) << error;
  }
}

TEST_F(SqliteOpen, AFullDiskIsReportedAndReadingContinues) {
  auto store = open();
  const auto workspace = make_workspace(*store);
  {
    const Fault fault(Call::write, ENOSPC);
    EXPECT_THROW(store->append_to_inbox(workspace, message("no room"), at(0)).take(), StorageFull);
    EXPECT_THROW(store->check(), StorageFull) << "as a message does";
    EXPECT_TRUE(store->find_workspace(workspace));
  }
  EXPECT_NO_THROW(store->check());
  EXPECT_EQ(store->append_to_inbox(workspace, message("room"), at(0)).take()->seq, 1);
}

TEST_F(SqliteOpen, ADatabaseThatAnotherProgramHasLockedIsReported) {
  auto store = open();
  const auto workspace = make_workspace(*store);
  {
    sqlite::Health health;
    sqlite::Database other(file.string(), sqlite::Database::Mode::read_write, health);
    other.run("BEGIN IMMEDIATE");
    EXPECT_THAT([&] { store->check(); }, ThrowsMessage<Unavailable>(HasSubstr("locked")));
    EXPECT_TRUE(store->find_workspace(workspace)) << "reading goes on";
  }
  EXPECT_NO_THROW(store->check());
}

TEST_F(SqliteOpen, AWalDeletedWhileRunningIsNoticedBeforeAnotherWriteIsAcknowledged) {
  open().reset();
  auto store = open();
  std::filesystem::remove(file.string() + "-wal");
  EXPECT_THROW(store->create_workspace({}, at(0)).take(), Unavailable);
  EXPECT_THROW(store->check(), Unavailable);
}

TEST_F(SqliteOpen, ADatabaseDeletedWhileRunningIsNoticed) {
  auto store = open();
  const auto workspace = make_workspace(*store);
  std::filesystem::remove(file);
  EXPECT_THROW(store->check(), Unavailable);
  EXPECT_THROW(store->append_to_inbox(workspace, message("x"), at(0)).take(), Unavailable);
}

}  // namespace
}  // namespace restante::testing
