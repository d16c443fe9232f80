// The check of all bytes under way, or the last one: whose it is, how far it is, and when another may begin.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "backends.h"
#include "model/errors.h"
#include "postgres_server.h"
#include "store/postgres/store.h"

namespace restante::testing {
namespace {

class BlobChecks : public StoreTest {
 protected:
  NewBlobCheck wanted(WorkerId worker, Time until) const { return {false, worker, until, R"({"files":0})", "[]", {}}; }
  BlobCheckUpdate said(const BlobCheckRow& of, Time until) const {
    BlobCheckUpdate note;
    note.worker = of.worker;
    note.begun_at = of.begun_at;
    note.worker_until = until;
    note.progress = R"({"files":7})";
    return note;
  }
  BlobCheckRow begun(Time now = at(1), Time until = at(20)) {
    return store->begin_blob_check(wanted(one, until), now).take().value();
  }

  const WorkerId one = WorkerId::make(at(0));
  const WorkerId two = WorkerId::make(at(0));
};
RESTANTE_EVERY_BACKEND(BlobChecks);

TEST_P(BlobChecks, BeforeTheFirstOneThereIsNone) {
  EXPECT_FALSE(store->find_blob_check());
  EXPECT_FALSE(store->update_blob_check(said({}, at(9))).take().value());
  EXPECT_FALSE(store->find_blob_check());
}

TEST_P(BlobChecks, OneThatHasBegunIsFoundAsItWasBegunAlsoByALaterServer) {
  NewBlobCheck mends = wanted(one, at(20));
  mends.mend = true;
  const auto given = store->begin_blob_check(mends, at(1)).take();
  const BlobCheckRow expected{BlobCheckState::running, true, at(1), one, at(20), mends.progress, mends.findings, {}};
  ASSERT_TRUE(given);
  EXPECT_EQ(*given, expected);
  EXPECT_EQ(store->find_blob_check(), expected);
  reopen();
  EXPECT_EQ(store->find_blob_check(), expected);
}

TEST_P(BlobChecks, AnotherOneIsRefusedWhileTheLeaseHoldsAndThenReplacesIt) {
  const auto first = begun();
  EXPECT_ERROR(store->begin_blob_check(wanted(two, at(99)), at(19)).take(), errors::blob_check_running);
  EXPECT_ERROR(store->begin_blob_check(wanted(one, at(99)), at(19)).take(), errors::blob_check_running);
  EXPECT_EQ(store->find_blob_check(), first);
  ASSERT_TRUE(store->update_blob_check(said(first, at(40))).take().value()) << "it lives";
  EXPECT_ERROR(store->begin_blob_check(wanted(two, at(99)), at(39)).take(), errors::blob_check_running);
  ASSERT_TRUE(store->begin_blob_check(wanted(two, at(99)), at(40)).take());
  EXPECT_EQ(store->find_blob_check()->worker, two);
  EXPECT_EQ(store->find_blob_check()->progress, R"({"files":0})");
  EXPECT_FALSE(store->update_blob_check(said(first, at(60))).take().value()) << "it is not the first one's any more";
  EXPECT_EQ(store->find_blob_check()->worker, two);
}

TEST_P(BlobChecks, WhoIsKnownToBeGoneIsNotWaitedFor) {
  begun();
  NewBlobCheck next = wanted(two, at(99));
  next.gone = one;
  EXPECT_TRUE(store->begin_blob_check(next, at(2)).take());
  EXPECT_ERROR(store->begin_blob_check(next, at(3)).take(), errors::blob_check_running);
}

TEST_P(BlobChecks, WhatIsSaidReplacesWhatWasAndFindingsOnlyWhereTheyAreSaid) {
  const auto first = begun();
  auto note = said(first, at(30));
  note.findings = R"([{"fault":"missing"}])";
  ASSERT_TRUE(store->update_blob_check(note).take().value());
  note.findings.reset();
  note.progress = R"({"files":8})";
  note.worker_until = at(31);
  ASSERT_TRUE(store->update_blob_check(note).take().value());
  const auto row = store->find_blob_check();
  EXPECT_EQ(row->progress, R"({"files":8})");
  EXPECT_EQ(row->findings, R"([{"fault":"missing"}])");
  EXPECT_EQ(row->worker_until, at(31));
  EXPECT_EQ(row->begun_at, at(1));
  EXPECT_FALSE(row->ended_at);
}

TEST_P(BlobChecks, OnceItHasEndedNothingMoreIsSaidAndAnotherOneMayBegin) {
  for (const auto state : {BlobCheckState::done, BlobCheckState::stopped, BlobCheckState::failed}) {
    const auto row = begun(at(1), at(20));
    auto note = said(row, at(20));
    note.state = state;
    note.ended_at = at(5);
    ASSERT_TRUE(store->update_blob_check(note).take().value());
    EXPECT_FALSE(store->update_blob_check(said(row, at(50))).take().value());
    reopen();
    const auto ended = store->find_blob_check();
    EXPECT_EQ(ended->state, state);
    EXPECT_EQ(ended->ended_at, at(5));
  }
  EXPECT_FALSE(begun(at(6), at(20)).ended_at);
  EXPECT_FALSE(store->find_blob_check()->ended_at);
}

TEST_P(BlobChecks, ALongReportIsKeptAsItIs) {
  const auto row = begun();
  auto note = said(row, at(30));
  note.findings = "[\"" + std::string(1 << 20, 'x') + "Grüße\"]";
  ASSERT_TRUE(store->update_blob_check(note).take().value());
  EXPECT_EQ(store->find_blob_check()->findings, note.findings);
}

TEST(BlobChecksOfSeveralServers, OfManyThatBeginAtOnceOneDoes) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  constexpr int kServers = 4;
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < kServers; ++i) stores.push_back(postgres::open(database.url(), patient_options()));
  for (int round = 0; round < 5; ++round) {
    const Time now = at(100 * round);
    std::atomic<int> began{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (const auto& store : stores) {
      threads.emplace_back([&] {
        const NewBlobCheck wanted{false, WorkerId::make(now), now + std::chrono::seconds(50), "{}", "[]", {}};
        const auto begun = store->begin_blob_check(wanted, now).take();
        if (begun) ++began;
        if (!begun && begun.error().is(errors::blob_check_running)) ++refused;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(began, 1);
    EXPECT_EQ(refused, kServers - 1);
  }
}

}  // namespace
}  // namespace restante::testing
