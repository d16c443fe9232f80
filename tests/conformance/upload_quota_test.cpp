// The quota of a workspace: exact, whoever stages at the same time and by whichever verb.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

using ::testing::IsEmpty;

class UploadQuotas : public StoreTest {
 protected:
  static StagingTerms terms(std::int64_t max_bytes, std::int64_t max_files) {
    auto given = until(at(1000));
    given.quota = {max_bytes, max_files};
    return given;
  }
  Result<std::vector<StagedUpload>> try_stage(WorkspaceId workspace, std::vector<NewUpload> items,
                                              const StagingTerms& given, Time now = at(0)) {
    return store->stage_uploads(workspace, std::move(items), given, now).take();
  }
  static std::map<std::string, std::int64_t> facts(const Error& error) {
    std::map<std::string, std::int64_t> all;
    for (const auto& fact : error.facts()) all[std::string(fact.name)] = std::get<std::int64_t>(fact.value);
    return all;
  }
};
RESTANTE_EVERY_BACKEND(UploadQuotas);

TEST_P(UploadQuotas, ExactlyTheLimitFitsAndOneByteMoreDoesNot) {
  const auto workspace = make_workspace().id;
  EXPECT_TRUE(try_stage(workspace, {file("a", 60), file("b", 40)}, terms(100, 0)));
  const auto over = try_stage(workspace, {file("c", 1)}, terms(100, 0));
  EXPECT_ERROR(over, errors::quota_exceeded);
  EXPECT_EQ(facts(over.error()),
            (std::map<std::string, std::int64_t>{{"max_bytes", 100}, {"staged_bytes", 100}, {"staged_files", 2}}));
  EXPECT_TRUE(try_stage(workspace, {file("c", 1)}, terms(101, 0)));
  EXPECT_TRUE(try_stage(make_workspace().id, {file("c", 100)}, terms(100, 0))) << "each workspace has its own";
}

TEST_P(UploadQuotas, ExactlySoManyFilesFitAndOneMoreDoesNot) {
  const auto workspace = make_workspace().id;
  EXPECT_TRUE(try_stage(workspace, {file("a"), file("b")}, terms(0, 3)));
  const auto over = try_stage(workspace, {file("c"), file("d")}, terms(0, 3));
  EXPECT_ERROR(over, errors::quota_exceeded);
  EXPECT_EQ(facts(over.error()),
            (std::map<std::string, std::int64_t>{{"max_files", 3}, {"staged_bytes", 10}, {"staged_files", 2}}));
  EXPECT_EQ(log_of(workspace).size(), 2u) << "a batch that does not fit leaves nothing";
  EXPECT_TRUE(try_stage(workspace, {file("c")}, terms(0, 3)));
}

TEST_P(UploadQuotas, NothingIsNoLimit) {
  const auto workspace = make_workspace().id;
  EXPECT_TRUE(try_stage(workspace, {file("a", kMaxFileBytes)}, terms(0, 0)));
  EXPECT_TRUE(try_stage(workspace, {file("b", kMaxFileBytes)}, terms(0, 0)));
}

TEST_P(UploadQuotas, OutgoingFilesAndSmallContentCountToo) {
  const auto workspace = make_workspace().id;
  auto out = terms(20, 0);
  out.direction = UploadDirection::out;
  EXPECT_TRUE(try_stage(workspace, {file("a", 10)}, out));
  EXPECT_TRUE(try_stage(workspace, {small_file("b", "0123456789")}, terms(20, 0)));
  EXPECT_ERROR(try_stage(workspace, {small_file("c", "x")}, out), errors::quota_exceeded);
  EXPECT_ERROR(try_stage(workspace, {file("d", 1)}, terms(20, 0)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, RoomComesWithARowThatLeavesAndNotWithAnAck) {
  const auto workspace = make_workspace().id;
  const auto acked = file("acked");
  const auto recalled = file("recalled");
  const auto failed = file("failed");
  auto soon = terms(0, 4);
  soon.expires_at = at(10);
  ASSERT_TRUE(try_stage(workspace, {acked, recalled, failed}, terms(0, 4)));
  ASSERT_TRUE(try_stage(workspace, {file("expired")}, soon));
  ASSERT_TRUE(store->mark_fetched(workspace, acked.id, at(1)).take());
  ASSERT_TRUE(store->fail_upload(workspace, failed.id, "why", at(1)).take());
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(1)).take());
  // The bytes of an acked file lie there until it is swept.
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);

  ASSERT_TRUE(store->recall_upload(workspace, recalled.id, {}, at(2)).take());
  EXPECT_TRUE(try_stage(workspace, {file("1")}, terms(0, 4)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(1), 10, at(2)).take()->acked, 1);
  EXPECT_TRUE(try_stage(workspace, {file("2")}, terms(0, 4)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(1), 10, at(10)).take()->expired.size(), 1u);
  EXPECT_TRUE(try_stage(workspace, {file("3")}, terms(0, 4)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  reopen();
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, HoweverManyStageAndRecallAtOnceItIsNeverExceededAndNeverWasted) {
  constexpr std::int64_t kFiles = 20;
  constexpr int kThreads = 16;
  const auto workspace = make_workspace().id;
  std::atomic<int> staged{0};
  std::atomic<int> recalled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const auto item = t % 2 == 0 ? file("f", 3) : small_file("f", "abc");
        const auto result = try_stage(workspace, {item}, terms(kFiles * 3, kFiles));
        if (!result) {
          EXPECT_EQ(result.error().code(), errors::quota_exceeded.code);
          continue;
        }
        ++staged;
        if (i % 3 != 0) continue;
        EXPECT_TRUE(store->recall_upload(workspace, item.id, {}, at(1)).take());
        ++recalled;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::ssize(store->list_waiting(workspace, {}, 1000, at(0))), staged - recalled);
  EXPECT_LE(staged - recalled, kFiles);
  // What is free can be used to the last file, and not beyond.
  for (int left = staged - recalled; left < kFiles; ++left) {
    EXPECT_TRUE(try_stage(workspace, {file("f", 3)}, terms(kFiles * 3, kFiles)));
  }
  EXPECT_ERROR(try_stage(workspace, {file("f", 3)}, terms(kFiles * 3, kFiles)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, WhoDoesNotFitTakesNobodyElseDown) {
  const auto full = make_workspace().id;
  const auto free = make_workspace().id;
  ASSERT_TRUE(try_stage(full, {file("a")}, terms(0, 1)));
  std::vector<Commit<Result<std::vector<StagedUpload>>>> commits;
  for (int i = 0; i < 60; ++i) {
    commits.push_back(
        store->stage_uploads(i % 2 == 0 ? full : free, {file("b")}, terms(0, i % 2 == 0 ? 1 : 30), at(0)));
  }
  for (int i = 0; i < 60; ++i) EXPECT_EQ(commits[static_cast<std::size_t>(i)].take().has_value(), i % 2 == 1) << i;
  EXPECT_EQ(log_of(free).size(), 30u);
  EXPECT_EQ(log_of(full).size(), 1u);
}

}  // namespace
}  // namespace restante::testing
