// The row of the current or last blob check: which server runs it, its progress, and when another one may begin.
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
  BlobCheckUpdate update_of(const BlobCheckRow& of, Time until) const {
    BlobCheckUpdate update;
    update.worker = of.worker;
    update.begun_at = of.begun_at;
    update.worker_until = until;
    update.progress = R"({"files":7})";
    return update;
  }
  BlobCheckRow begun(Time now = at(1), Time until = at(20)) {
    return store->begin_blob_check(wanted(one, until), now).take().value();
  }

  const WorkerId one = WorkerId::make(at(0));
  const WorkerId two = WorkerId::make(at(0));
};
RESTANTE_EVERY_BACKEND(BlobChecks);

TEST_P(BlobChecks, BeforeTheFirstCheckThereIsNoRow) {
  EXPECT_FALSE(store->find_blob_check());
  EXPECT_FALSE(store->update_blob_check(update_of({}, at(9))).take().value());
  EXPECT_FALSE(store->find_blob_check());
}

TEST_P(BlobChecks, ARunningCheckIsFoundUnchangedAlsoAfterReopening) {
  NewBlobCheck repairs = wanted(one, at(20));
  repairs.mend = true;
  const auto given = store->begin_blob_check(repairs, at(1)).take();
  const BlobCheckRow expected{BlobCheckState::running, true, at(1), one, at(20), repairs.progress,
                              repairs.findings,        {}};
  ASSERT_TRUE(given);
  EXPECT_EQ(*given, expected);
  EXPECT_EQ(store->find_blob_check(), expected);
  reopen();
  EXPECT_EQ(store->find_blob_check(), expected);
}

TEST_P(BlobChecks, ASecondCheckIsRefusedWhileTheLeaseHoldsAndThenReplacesTheFirst) {
  const auto first = begun();
  EXPECT_ERROR(store->begin_blob_check(wanted(two, at(99)), at(19)).take(), errors::blob_check_running);
  EXPECT_ERROR(store->begin_blob_check(wanted(one, at(99)), at(19)).take(), errors::blob_check_running);
  EXPECT_EQ(store->find_blob_check(), first);
  ASSERT_TRUE(store->update_blob_check(update_of(first, at(40))).take().value()) << "it still runs";
  EXPECT_ERROR(store->begin_blob_check(wanted(two, at(99)), at(39)).take(), errors::blob_check_running);
  ASSERT_TRUE(store->begin_blob_check(wanted(two, at(99)), at(40)).take());
  EXPECT_EQ(store->find_blob_check()->worker, two);
  EXPECT_EQ(store->find_blob_check()->progress, R"({"files":0})");
  EXPECT_FALSE(store->update_blob_check(update_of(first, at(60))).take().value()) << "another worker has replaced it";
  EXPECT_EQ(store->find_blob_check()->worker, two);
}

TEST_P(BlobChecks, TheLeaseOfAWorkerThatIsKnownToBeGoneIsIgnored) {
  begun();
  NewBlobCheck next = wanted(two, at(99));
  next.gone = one;
  EXPECT_TRUE(store->begin_blob_check(next, at(2)).take());
  EXPECT_ERROR(store->begin_blob_check(next, at(3)).take(), errors::blob_check_running);
}

TEST_P(BlobChecks, AnUpdateReplacesProgressAndFindingsOnlyWhenItHasThem) {
  const auto first = begun();
  auto update = update_of(first, at(30));
  update.findings = R"([{"fault":"missing"}])";
  ASSERT_TRUE(store->update_blob_check(update).take().value());
  update.findings.reset();
  update.progress = R"({"files":8})";
  update.worker_until = at(31);
  ASSERT_TRUE(store->update_blob_check(update).take().value());
  const auto row = store->find_blob_check();
  EXPECT_EQ(row->progress, R"({"files":8})");
  EXPECT_EQ(row->findings, R"([{"fault":"missing"}])");
  EXPECT_EQ(row->worker_until, at(31));
  EXPECT_EQ(row->begun_at, at(1));
  EXPECT_FALSE(row->ended_at);
}

TEST_P(BlobChecks, AfterItsEndACheckTakesNoUpdateAndAnotherMayBegin) {
  for (const auto state : {BlobCheckState::done, BlobCheckState::stopped, BlobCheckState::failed}) {
    const auto row = begun(at(1), at(20));
    auto update = update_of(row, at(20));
    update.state = state;
    update.ended_at = at(5);
    ASSERT_TRUE(store->update_blob_check(update).take().value());
    EXPECT_FALSE(store->update_blob_check(update_of(row, at(50))).take().value());
    reopen();
    const auto ended = store->find_blob_check();
    EXPECT_EQ(ended->state, state);
    EXPECT_EQ(ended->ended_at, at(5));
  }
  EXPECT_FALSE(begun(at(6), at(20)).ended_at);
  EXPECT_FALSE(store->find_blob_check()->ended_at);
}

TEST_P(BlobChecks, LongFindingsAreKeptUnchanged) {
  const auto row = begun();
  auto update = update_of(row, at(30));
  update.findings = "[\"" + std::string(1 << 20, 'x') + "Grüße\"]";
  ASSERT_TRUE(store->update_blob_check(update).take().value());
  EXPECT_EQ(store->find_blob_check()->findings, update.findings);
}

TEST(BlobChecksOfSeveralServers, OfManyServersThatBeginAtOnceOneSucceeds) {
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
