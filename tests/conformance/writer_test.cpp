#include "store/sqlite/database/writer.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <thread>

#include "base/test_folder.h"
#include "faults.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using sqlite::Database;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A writer on a table of numbers.
class GroupWriter : public ::testing::Test {
 protected:
  GroupWriter() { start({}); }

  void start(sqlite::Writer::Limits limits) {
    writer.reset();
    health = std::make_unique<sqlite::Health>();
    std::ofstream(file, std::ios::app).flush();
    auto database = std::make_unique<Database>(file, Database::Mode::read_write, *health);
    database->query("PRAGMA journal_mode = WAL").step();
    database->execute("CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY, CHECK (n < 1000))");
    auto checkpoints = std::make_unique<Database>(file, Database::Mode::read_write, *health);
    writer = std::make_unique<sqlite::Writer>(std::move(database), std::move(checkpoints), *health, limits);
  }

  // Keeps the writer busy until the gate opens, so that the next verbs wait together.
  std::promise<void> close_gate() {
    std::promise<void> open;
    std::promise<void> reached;
    auto at_gate = reached.get_future();
    writer->submit(0,
                   [opened = open.get_future().share(),
                    signal = std::make_shared<std::promise<void>>(std::move(reached))](Database&) -> Result<void> {
                     signal->set_value();
                     opened.wait();
                     return {};
                   });
    at_gate.wait();
    return open;
  }

  auto insert(std::int64_t n) {
    return writer->submit(8, [n](Database& database) -> Result<std::int64_t> {
      database.run("INSERT INTO numbers (n) VALUES (?)", n);
      return n;
    });
  }

  std::vector<std::int64_t> numbers() {
    sqlite::Health other;
    Database reader(file, Database::Mode::read_only, other);
    std::vector<std::int64_t> all;
    auto row = reader.query("SELECT n FROM numbers ORDER BY n");
    while (row.step()) all.push_back(row.integer(0));
    return all;
  }

  // The whole write-ahead log is in the database, and synced: then its index counts as many frames moved as there are.
  bool is_checkpointed() const {
    std::ifstream index(file + "-shm", std::ios::binary);
    const auto count_at = [&](std::streamoff offset) {
      std::uint32_t count = 0;
      index.seekg(offset).read(reinterpret_cast<char*>(&count), sizeof count);
      return count;
    };
    return count_at(16) == count_at(96);
  }
  // The header of the write-ahead log differs each time it has started over.
  std::string wal_header() const {
    std::string head(32, '\0');
    std::ifstream(file + "-wal", std::ios::binary).read(head.data(), std::ssize(head));
    return head;
  }

  TestFolder directory;
  const std::string file = (directory / "numbers.db").string();
  std::unique_ptr<sqlite::Health> health;
  std::unique_ptr<sqlite::Writer> writer;
};

TEST_F(GroupWriter, WaitingVerbsAreCommittedTogetherAndAnsweredAfterwards) {
  auto gate = close_gate();
  std::vector<Commit<Result<std::int64_t>>> commits;
  for (int n = 1; n <= 10; ++n) commits.push_back(insert(n));
  auto last = writer->submit(0, [this](Database& database) -> Result<std::pair<std::int64_t, std::size_t>> {
    auto row = database.query("SELECT count(*) FROM numbers");
    row.step();
    return std::pair(row.integer(0), numbers().size());
  });
  gate.set_value();
  const auto [inside, outside] = last.take().value();
  EXPECT_EQ(inside, 10);
  EXPECT_EQ(outside, 0u) << "nothing of the group is visible before its one commit";
  for (auto& commit : commits) EXPECT_TRUE(commit.take());
  EXPECT_EQ(numbers().size(), 10u);
}

TEST_F(GroupWriter, AnAnswerComesOnlyOnceTheRowIsVisibleToOthers) {
  std::promise<std::vector<std::int64_t>> seen;
  auto commit = insert(1);
  commit.on_done([&] { seen.set_value(numbers()); });
  EXPECT_THAT(seen.get_future().get(), ElementsAre(1));
}

TEST_F(GroupWriter, WhatAVerbHoldsEndsWithItsAnswerAndNotWithTheNextWrite) {
  std::promise<void> ended;
  std::shared_ptr<void> held(nullptr, [&ended](void*) { ended.set_value(); });
  writer->submit(0, [held = std::move(held)](Database&) -> Result<void> { return {}; });
  EXPECT_EQ(ended.get_future().wait_for(std::chrono::minutes(2)), std::future_status::ready);
}

TEST_F(GroupWriter, AnObserverThatThrowsFailsNothing) {
  auto first = insert(1);
  first.then([](const Result<std::int64_t>&) { throw std::runtime_error("an observer"); });
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(insert(2).take());
}

TEST_F(GroupWriter, AVerbThatViolatesAConstraintFailsAlone) {
  auto gate = close_gate();
  auto first = insert(1);
  auto twice = insert(1);
  auto second = insert(2);
  auto too_big = insert(1000);
  auto third = insert(3);
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_THROW(twice.take(), sqlite::ConstraintFailed);
  EXPECT_TRUE(second.take());
  EXPECT_THROW(too_big.take(), sqlite::ConstraintFailed);
  EXPECT_TRUE(third.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(health->ok());
}

TEST_F(GroupWriter, AVerbThatThrowsAfterItWroteIsUndoneAlone) {
  auto gate = close_gate();
  auto before = insert(1);
  auto poison = writer->submit(0, [](Database& database) -> Result<void> {
    database.run("INSERT INTO numbers (n) VALUES (50)");
    throw std::runtime_error("poison");
  });
  auto after = insert(2);
  gate.set_value();
  EXPECT_TRUE(before.take());
  EXPECT_THROW(poison.take(), std::runtime_error);
  EXPECT_TRUE(after.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(GroupWriter, AVerbThatAnswersAnErrorLeavesNothingThoughItWrote) {
  auto gate = close_gate();
  auto before = insert(1);
  auto refused = writer->submit(0, [](Database& database) -> Result<void> {
    database.run("INSERT INTO numbers (n) VALUES (50)");
    return errors::workspace_not_found;
  });
  auto after = insert(2);
  gate.set_value();
  EXPECT_TRUE(before.take());
  EXPECT_TRUE(refused.take().has_error());
  EXPECT_TRUE(after.take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(GroupWriter, AFullQueueAnswersAtOnceAndTakesWritesAgainLater) {
  start({{.queued_verbs = 2, .queued_bytes = 1000, .group_verbs = 512}});
  auto gate = close_gate();
  auto first = insert(1);
  auto second = insert(2);
  auto third = insert(3);
  EXPECT_THROW(third.take(), Unavailable);
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_TRUE(second.take());
  EXPECT_TRUE(insert(4).take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 4));
}

TEST_F(GroupWriter, TheQueueIsBoundedByMemoryTooButOneVerbAlwaysFits) {
  start({{.queued_verbs = 100, .queued_bytes = 1000, .group_verbs = 512}});
  const auto nothing = [](Database&) -> Result<void> { return {}; };
  auto gate = close_gate();
  auto huge = writer->submit(5000, nothing);
  auto small = writer->submit(1, nothing);
  EXPECT_THROW(small.take(), Unavailable);
  gate.set_value();
  EXPECT_TRUE(huge.take());
  EXPECT_TRUE(writer->submit(1, nothing).take());
}

TEST_F(GroupWriter, ClosingCommitsWhatWasAccepted) {
  auto gate = close_gate();
  std::vector<Commit<Result<std::int64_t>>> commits;
  for (int n = 1; n <= 600; ++n) commits.push_back(insert(n));
  gate.set_value();
  writer.reset();
  for (auto& commit : commits) EXPECT_TRUE(commit.take());
  EXPECT_EQ(numbers().size(), 600u);
}

TEST_F(GroupWriter, AVerbMayBeSubmittedFromTheAnswerToAnother) {
  std::promise<Commit<Result<std::int64_t>>> next;
  insert(1).on_done([&] { next.set_value(insert(2)); });
  EXPECT_TRUE(next.get_future().get().take());
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(GroupWriter, AFullDiskFailsTheGroupAndIsOverOnceThereIsRoom) {
  ASSERT_TRUE(insert(1).take());
  {
    const Fault fault(Call::write, ENOSPC);
    auto gate = close_gate();
    auto second = insert(2);
    auto third = insert(3);
    gate.set_value();
    EXPECT_THROW(second.take(), StorageFull);
    EXPECT_THROW(third.take(), StorageFull);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_TRUE(health->ok());
  EXPECT_TRUE(insert(4).take());
  EXPECT_THAT(numbers(), ElementsAre(1, 4));
}

TEST_F(GroupWriter, AFullDiskIsTriedAgainOnceTheLogIsEmpty) {
  for (int n = 1; n <= 10; ++n) ASSERT_TRUE(insert(n).take());
  const std::string before = wal_header();
  {
    const Fault fault(Call::write, ENOSPC, 0, 1);
    EXPECT_TRUE(insert(11).take());
    EXPECT_EQ(fault.hits(), 1);
  }
  EXPECT_NE(wal_header(), before) << "it has started over";
  EXPECT_EQ(numbers().size(), 11u);
}

TEST_F(GroupWriter, AFailedSyncFailsTheGroupAndEverythingAfterIt) {
  ASSERT_TRUE(insert(1).take());
  {
    const Fault fault(Call::sync, EIO);
    EXPECT_THROW(insert(2).take(), OutcomeUnknown);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_FALSE(health->ok());
  auto after = insert(3);
  try {
    (void)after.take();
    FAIL() << "also when the disk seems to work again";
  } catch (const OutcomeUnknown&) {
    FAIL() << "it was not tried";
  } catch (const Unavailable&) {
  }
}

TEST_F(GroupWriter, ASyncThatFindsNoRoomFailsTheGroupAndIsOverOnceThereIsRoom) {
  for (const int error : {ENOSPC, EDQUOT}) {
    start({});
    ASSERT_TRUE(insert(error * 4 + 1).take());
    {
      const Fault fault(Call::sync, error);
      auto gate = close_gate();
      auto second = insert(error * 4 + 2);
      auto third = insert(error * 4 + 3);
      gate.set_value();
      EXPECT_THROW(second.take(), OutcomeUnknown);
      EXPECT_THROW(third.take(), OutcomeUnknown);
      EXPECT_GT(fault.hits(), 0);
    }
    EXPECT_TRUE(health->ok());
    EXPECT_TRUE(insert(error * 4 + 4).take());
  }
  writer.reset();
  start({});
  const auto of = [](int error, int number) { return std::int64_t{error} * 4 + number; };
  EXPECT_THAT(numbers(), UnorderedElementsAre(of(ENOSPC, 1), of(ENOSPC, 4), of(EDQUOT, 1), of(EDQUOT, 4)));
}

// A verb of 17 MiB makes a checkpoint due. Its syncs come after the answer, on another thread or before a later group.
TEST_F(GroupWriter, WhicheverSyncFailsNothingIsAcknowledgedAfterItIsKnown) {
  const auto succeeds = [](Commit<Result<void>> commit) {
    try {
      return commit.take().has_value();
    } catch (const Unavailable&) {
      return false;
    }
  };
  const auto nothing = [](Database&) -> Result<void> { return {}; };
  int failed_after_the_answer = 0;
  bool any_failed = true;
  for (int skipped = 0; any_failed; ++skipped) {
    start({});
    const Fault fault(Call::sync, EIO, skipped);
    const bool acknowledged = succeeds(writer->submit(0, [](Database& database) -> Result<void> {
      database.run("CREATE TABLE IF NOT EXISTS pages (bytes BLOB)");
      database.run("INSERT INTO pages (bytes) VALUES (zeroblob(17825792))");
      return {};
    }));
    while (health->ok() && fault.hits() == 0 && !is_checkpointed()) {
      if (succeeds(writer->submit(0, nothing))) std::this_thread::yield();
    }
    any_failed = fault.hits() > 0;
    while (any_failed && health->ok()) std::this_thread::yield();
    EXPECT_EQ(succeeds(writer->submit(0, nothing)), !any_failed) << skipped;
    failed_after_the_answer += acknowledged && any_failed ? 1 : 0;
    writer.reset();
    std::filesystem::remove(file);
  }
  EXPECT_GT(failed_after_the_answer, 0);
}

// The write-ahead log is written in few large writes, and its pages are moved into the database while more are written.
TEST_F(GroupWriter, TheWalStartsOverWhileItIsWrittenAndNothingIsLost) {
  sqlite::Writer::Limits limits;
  limits.truncate_pages = std::numeric_limits<int>::max();  // the writer itself does not make it start over
  start(limits);
  ASSERT_TRUE(writer
                  ->submit(0,
                           [](Database& database) -> Result<void> {
                             database.run("CREATE TABLE pages (n INTEGER PRIMARY KEY, bytes BLOB)");
                             return {};
                           })
                  .take());
  const std::string first_wal = wal_header();
  std::int64_t rows = 0;
  std::int64_t written = 0;
  const auto write = [&](std::int64_t size) {
    EXPECT_TRUE(writer
                    ->submit(0,
                             [n = rows, size](Database& database) -> Result<void> {
                               database.run("INSERT INTO pages (n, bytes) VALUES (?, randomblob(?))", n, size);
                               return {};
                             })
                    .take());
    ++rows;
    written += size;
  };
  while (rows < 400) write(500'000);
  // Its pages are moved as fast as the machine can; until then little is added.
  const auto ceiling = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (wal_header() == first_wal) {
    ASSERT_LT(std::chrono::steady_clock::now(), ceiling) << "it never started over";
    write(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  writer.reset();
  sqlite::Health other;
  Database reader(file, Database::Mode::read_only, other);
  auto row = reader.query("SELECT count(*), sum(length(bytes)) FROM pages");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), rows);
  EXPECT_EQ(row.integer(1), written);
  auto sound = reader.query("PRAGMA integrity_check");
  ASSERT_TRUE(sound.step());
  EXPECT_EQ(sound.text(0), "ok");
}

// A transaction larger than the cache is written before its end, and must find its own pages again.
TEST_F(GroupWriter, AVerbReadsBackWhatItWroteAlthoughItOutgrewTheCache) {
  auto written = writer->submit(0, [](Database& database) -> Result<std::int64_t> {
    database.run("CREATE TABLE pages (n INTEGER PRIMARY KEY, bytes BLOB)");
    for (int n = 0; n < 60; ++n) database.run("INSERT INTO pages (n, bytes) VALUES (?, zeroblob(1000000))", n);
    auto row = database.query("SELECT sum(length(bytes) + n) FROM pages WHERE hex(substr(bytes, 1, 4)) = '00000000'");
    return row.step() ? row.integer(0) : -1;
  });
  EXPECT_EQ(*written.take(), 60 * 1'000'000 + 59 * 60 / 2);
}

TEST_F(GroupWriter, AnIoErrorAtAWriteFailsTheGroupAndEverythingAfterIt) {
  ASSERT_TRUE(insert(1).take());
  {
    const Fault fault(Call::write, EIO);
    EXPECT_THROW(insert(2).take(), Unavailable);
  }
  EXPECT_FALSE(health->ok());
  EXPECT_THROW(insert(3).take(), Unavailable);
  EXPECT_THAT(numbers(), ElementsAre(1));
}

// A verb larger than the cache writes to the write-ahead log while it runs, long before the commit.
TEST_F(GroupWriter, ADiskThatIsFullInTheMiddleOfAVerbFailsTheGroup) {
  ASSERT_TRUE(writer
                  ->submit(0,
                           [](Database& database) -> Result<void> {
                             database.run("CREATE TABLE pages (bytes BLOB)");
                             return {};
                           })
                  .take());
  const auto fill = [&] {
    return writer->submit(0, [](Database& database) -> Result<void> {
      for (int i = 0; i < 40; ++i) database.run("INSERT INTO pages (bytes) VALUES (zeroblob(1000000))");
      return {};
    });
  };
  for (const bool apart : {false, true}) {
    const Fault fault(Call::write, ENOSPC);
    auto gate = close_gate();
    auto first = insert(1);
    auto twice = insert(apart ? 1 : 2);  // violates a constraint, so that all are tried again one by one
    auto large = fill();
    gate.set_value();
    EXPECT_THROW(first.take(), StorageFull);
    EXPECT_THROW(twice.take(), StorageFull);
    EXPECT_THROW(large.take(), StorageFull);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_TRUE(health->ok());
  EXPECT_THAT(numbers(), IsEmpty());
  EXPECT_TRUE(insert(1).take());
  const Fault fault(Call::write, EIO);
  auto gate = close_gate();
  auto twice = insert(1);
  auto large = fill();
  gate.set_value();
  EXPECT_THROW(twice.take(), Unavailable);
  EXPECT_THROW(large.take(), Unavailable);
  EXPECT_FALSE(health->ok());
}

TEST_F(GroupWriter, AFailureThatEndsTheTransactionFailsAllItsVerbs) {
  ASSERT_TRUE(insert(1).take());
  auto gate = close_gate();
  auto before = insert(2);
  auto ends_it = writer->submit(0, [](Database& database) -> Result<void> {
    database.run("INSERT OR ROLLBACK INTO numbers (n) VALUES (1)");
    return {};
  });
  auto after = insert(3);
  gate.set_value();
  EXPECT_THROW(before.take(), sqlite::ConstraintFailed);
  EXPECT_THROW(ends_it.take(), sqlite::ConstraintFailed);
  EXPECT_THROW(after.take(), sqlite::ConstraintFailed);
  EXPECT_THAT(numbers(), ElementsAre(1));
  EXPECT_TRUE(insert(4).take()) << "and the next group is sound";
}

TEST_F(GroupWriter, WhileItClosesNewVerbsAreRefusedAndAcceptedOnesCommitted) {
  constexpr int kTooMany = 1'000'000;  // more than are committed before it closes
  sqlite::Writer& shutdown_deadline = *writer;
  std::promise<int> answered;
  std::atomic<int> count{0};
  std::function<void()> next = [&] {
    auto commit = shutdown_deadline.submit(8, [](Database& database) -> Result<void> {
      database.run("INSERT INTO numbers (n) SELECT coalesce(min(n), 0) - 1 FROM numbers");
      return {};
    });
    commit.on_done([&, commit]() mutable {
      try {
        (void)commit.take();
        if (++count < kTooMany) next();
      } catch (const Unavailable&) {
        answered.set_value(count);
      }
    });
  };
  next();
  while (count < 3) std::this_thread::yield();
  writer.reset();
  auto refused = answered.get_future();
  ASSERT_EQ(refused.wait_for(std::chrono::seconds(0)), std::future_status::ready) << "no verb was refused";
  EXPECT_EQ(numbers().size(), static_cast<std::size_t>(refused.get()));
}

TEST_F(GroupWriter, AWalThatNeverStartedOverIsTruncatedOnceThereIsRoom) {
  sqlite::Writer::Limits limits;
  limits.truncate_pages = 50;
  start(limits);
  const auto grow = [&] {
    return writer->submit(0, [](Database& database) -> Result<void> {
      database.run("CREATE TABLE IF NOT EXISTS pages (bytes BLOB)");
      database.run("INSERT INTO pages (bytes) VALUES (zeroblob(300000))");
      return {};
    });
  };
  // After the answer and before the next group.
  const auto wal_size = [&] {
    EXPECT_TRUE(writer->submit(0, [](Database&) -> Result<void> { return {}; }).take());
    return std::filesystem::file_size(file + "-wal");
  };
  std::optional<Fault> full;
  auto gate = close_gate();
  auto first = grow();
  first.on_done([&] { full.emplace(Call::write, ENOSPC); });
  gate.set_value();
  EXPECT_TRUE(first.take());
  EXPECT_GT(wal_size(), 300'000u) << "no verb fails because of it";
  EXPECT_GT(full->hits(), 0);
  full.reset();
  EXPECT_TRUE(health->ok());
  EXPECT_TRUE(grow().take());
  EXPECT_EQ(wal_size(), 0u);
}

// A reader has found a damaged page: the write-ahead log is kept unchanged, for the repair.
TEST_F(GroupWriter, ADatabaseThatHasFailedIsNotCheckpointed) {
  auto gate = close_gate();
  auto large = writer->submit(0, [](Database& database) -> Result<void> {
    database.run("CREATE TABLE pages (bytes BLOB)");
    database.run("INSERT INTO pages (bytes) VALUES (zeroblob(17825792))");
    return {};
  });
  large.on_done([&] { health->fail("a damaged page"); });
  gate.set_value();
  EXPECT_TRUE(large.take());
  EXPECT_THROW(insert(1).take(), Unavailable);
  EXPECT_LT(std::filesystem::file_size(file), 100'000u);
}

TEST_F(GroupWriter, NothingIsAcknowledgedOnAFileThatWasDeletedOrReplaced) {
  ASSERT_TRUE(insert(1).take());
  std::filesystem::rename(file, file + ".old");
  EXPECT_THROW(insert(2).take(), Unavailable);
  std::filesystem::copy_file(file + ".old", file);
  EXPECT_THROW(insert(3).take(), Unavailable);
  EXPECT_FALSE(health->ok());
}

TEST_F(GroupWriter, SixtyFourThreadsLoseNothing) {
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) answered += insert(t * 10 + i).take().has_value() ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, 640);
  EXPECT_EQ(numbers().size(), 640u);
}

}  // namespace
}  // namespace restante::testing
