#include "store/sqlite/writer.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>
#include <future>
#include <thread>

#include "faults.h"
#include "model/errors.h"
#include "temporary_directory.h"

namespace restante::testing {
namespace {

using sqlite::Database;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
    writer = std::make_unique<sqlite::Writer>(std::move(database), *health, limits);
  }

  // Keeps the writer busy until the gate opens, so that what comes next waits together.
  std::promise<void> close_gate() {
    std::promise<void> open;
    std::promise<void> reached;
    auto at_gate = reached.get_future();
    writer->submit(0,
                   [opened = open.get_future().share(),
                    told = std::make_shared<std::promise<void>>(std::move(reached))](Database&) -> Result<void> {
                     told->set_value();
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

  TemporaryDirectory directory;
  const std::string file = (directory / "numbers.db").string();
  std::unique_ptr<sqlite::Health> health;
  std::unique_ptr<sqlite::Writer> writer;
};

TEST_F(GroupWriter, WhatWaitsIsCommittedTogetherAndAnsweredAfterwards) {
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

TEST_F(GroupWriter, AVerbThatBreaksARuleFailsAlone) {
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
  start({.queued_verbs = 2, .queued_bytes = 1000, .group_verbs = 512});
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
  start({.queued_verbs = 100, .queued_bytes = 1000, .group_verbs = 512});
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

TEST_F(GroupWriter, AFailedSyncFailsTheGroupAndEverythingAfterIt) {
  ASSERT_TRUE(insert(1).take());
  {
    const Fault fault(Call::sync, EIO);
    EXPECT_THROW(insert(2).take(), Unavailable);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_FALSE(health->ok());
  EXPECT_THROW(insert(3).take(), Unavailable) << "also when the disk seems to be well again";
}

// A verb of 17 MiB makes a checkpoint due, whose syncs come after the answer and before the next group.
TEST_F(GroupWriter, WhicheverSyncFailsNothingIsAcknowledgedAfterIt) {
  const auto succeeds = [](Commit<Result<void>> commit) {
    try {
      return commit.take().has_value();
    } catch (const Unavailable&) {
      return false;
    }
  };
  int failed_after_the_answer = 0;
  bool any_failed = true;
  for (int spared = 0; any_failed; ++spared) {
    start({});
    const Fault fault(Call::sync, EIO, spared);
    const bool acknowledged = succeeds(writer->submit(0, [](Database& database) -> Result<void> {
      database.run("CREATE TABLE IF NOT EXISTS pages (bytes BLOB)");
      database.run("INSERT INTO pages (bytes) VALUES (zeroblob(17825792))");
      return {};
    }));
    const bool next = succeeds(writer->submit(0, [](Database&) -> Result<void> { return {}; }));
    any_failed = fault.hits() > 0;
    EXPECT_EQ(next, !any_failed) << spared;
    failed_after_the_answer += acknowledged && any_failed ? 1 : 0;
  }
  EXPECT_GT(failed_after_the_answer, 0);
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
