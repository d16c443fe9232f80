// The quota of a workspace: its files that were not acked. Exact, also when several threads stage by any verb at the
// same time.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "backends.h"
#include "model/errors.h"

namespace restante::testing {
namespace {

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
  EXPECT_EQ(inbox_of(workspace).size(), 2u) << "a batch that does not fit leaves nothing";
  EXPECT_TRUE(try_stage(workspace, {file("c")}, terms(0, 3)));
}

TEST_P(UploadQuotas, ZeroIsNoLimit) {
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

TEST_P(UploadQuotas, AnAckAndADeletedRowMakeRoomAtOnce) {
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
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(1)).take());
  EXPECT_TRUE(try_stage(workspace, {file("1")}, terms(0, 4))) << "an acked file does not count";
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);

  ASSERT_TRUE(store->recall_upload(workspace, recalled.id, {}, at(2)).take());
  EXPECT_TRUE(try_stage(workspace, {file("2")}, terms(0, 4)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(1), 10, at(10)).take()->expired.size(), 1u);
  EXPECT_TRUE(try_stage(workspace, {file("3")}, terms(0, 4)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
  reopen();
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 4)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, AcksGiveBackExactlyTheBytesTheyFree) {
  const auto workspace = make_workspace().id;
  const auto large = file("large", 70);
  const auto small = small_file("small", "0123456789");
  ASSERT_TRUE(try_stage(workspace, {large, small}, terms(100, 0)));
  ASSERT_TRUE(store->ack_upload(workspace, small.id, at(1)).take());
  const auto over = try_stage(workspace, {file("x", 31)}, terms(100, 0));
  EXPECT_ERROR(over, errors::quota_exceeded);
  EXPECT_EQ(facts(over.error()),
            (std::map<std::string, std::int64_t>{{"max_bytes", 100}, {"staged_bytes", 70}, {"staged_files", 1}}));
  ASSERT_TRUE(store->ack_upload(workspace, large.id, at(1)).take());
  EXPECT_ERROR(try_stage(workspace, {file("x", 101)}, terms(100, 0)), errors::quota_exceeded);
  EXPECT_TRUE(try_stage(workspace, {file("x", 100)}, terms(100, 0)));
}

TEST_P(UploadQuotas, SpaceThatAnAckFreedIsNeitherTakenBackNorFreedAgain) {
  const auto workspace = make_workspace().id;
  const auto acked = file("acked");
  ASSERT_TRUE(try_stage(workspace, {acked, file("waiting")}, terms(0, 2)));
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(1)).take());
  ASSERT_TRUE(try_stage(workspace, {file("next")}, terms(0, 2)));
  const auto expect_full = [&] {
    EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 2)), errors::quota_exceeded);
  };
  expect_full();
  // An acked file never waits again, and a second ack does not count a second file.
  ASSERT_TRUE(store->ack_upload(workspace, acked.id, at(2)).take());
  expect_full();
  ASSERT_TRUE(store->mark_fetched(workspace, acked.id, at(2)).take());
  EXPECT_ERROR(store->fail_upload(workspace, acked.id, "too late", at(2)).take(), errors::upload_gone);
  EXPECT_ERROR(store->recall_upload(workspace, acked.id, {}, at(2)).take(), errors::upload_already_acked);
  ASSERT_TRUE(store->mark_damaged(workspace, acked.id, UploadDamage::changed, at(2)).take());
  expect_full();
  ASSERT_EQ(store->sweep_uploads(std::chrono::seconds(0), 10, at(3)).take()->acked, 1);
  expect_full();
  EXPECT_TRUE(try_stage(workspace, {file("third")}, terms(0, 3)));
  EXPECT_ERROR(try_stage(workspace, {file("x")}, terms(0, 3)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, AFileThatComesWithAMessageCountsUntilItIsAcked) {
  const auto sender = make_workspace("sender").id;
  const auto target = make_workspace("target").id;
  auto out = until(at(1000));
  out.direction = UploadDirection::out;
  const auto source = file("source", 10);
  ASSERT_TRUE(try_stage(sender, {source}, out));
  const auto send = [&](FileId id) {
    return store->append_to_inbox_with_files(target, message("m"), {{sender, source.id, id}}, terms(0, 1), at(0))
        .take();
  };
  const auto first = FileId::make(at(0));
  ASSERT_TRUE(send(first));
  EXPECT_ERROR(send(FileId::make(at(0))), errors::quota_exceeded);
  ASSERT_TRUE(store->ack_upload(target, first, at(1)).take());
  EXPECT_TRUE(send(FileId::make(at(0))));
}

TEST_P(UploadQuotas, HoweverManyStageRecallAndAckAtOnceItIsNeverExceededAndNeverWasted) {
  constexpr std::int64_t kFiles = 20;
  constexpr int kThreads = 16;
  const auto workspace = make_workspace().id;
  std::atomic<int> staged{0};
  std::atomic<int> done{0};
  std::atomic<bool> over{false};
  std::thread sweeper([&] {
    while (!over) EXPECT_TRUE(store->sweep_uploads(std::chrono::seconds(0), 5, at(1)).take());
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const auto item = t % 2 == 0 ? file("f", 3) : small_file("f", "abc");
        const auto result = try_stage(workspace, {item}, terms(kFiles * 3, kFiles));
        EXPECT_LE(std::ssize(store->list_waiting(workspace, {}, 1000, at(0))), kFiles);
        if (!result) {
          EXPECT_EQ(result.error().code(), errors::quota_exceeded.code);
          continue;
        }
        ++staged;
        if (i % 3 == 0) continue;
        auto change = i % 3 == 1 ? store->recall_upload(workspace, item.id, {}, at(1))
                                 : store->ack_upload(workspace, item.id, at(1));
        EXPECT_TRUE(change.take());
        ++done;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  over = true;
  sweeper.join();
  EXPECT_EQ(std::ssize(store->list_waiting(workspace, {}, 1000, at(0))), staged - done);
  EXPECT_LE(staged - done, kFiles);
  // The free space can be used up to the last file, and not beyond.
  for (int left = staged - done; left < kFiles; ++left) {
    EXPECT_TRUE(try_stage(workspace, {file("f", 3)}, terms(kFiles * 3, kFiles)));
  }
  EXPECT_ERROR(try_stage(workspace, {file("f", 3)}, terms(kFiles * 3, kFiles)), errors::quota_exceeded);
}

TEST_P(UploadQuotas, ARefusedStagingFailsNoOther) {
  const auto full = make_workspace().id;
  const auto free = make_workspace().id;
  ASSERT_TRUE(try_stage(full, {file("a")}, terms(0, 1)));
  std::vector<Commit<Result<std::vector<StagedUpload>>>> commits;
  for (int i = 0; i < 60; ++i) {
    commits.push_back(
        store->stage_uploads(i % 2 == 0 ? full : free, {file("b")}, terms(0, i % 2 == 0 ? 1 : 30), at(0)));
  }
  for (int i = 0; i < 60; ++i) EXPECT_EQ(commits[static_cast<std::size_t>(i)].take().has_value(), i % 2 == 1) << i;
  EXPECT_EQ(inbox_of(free).size(), 30u);
  EXPECT_EQ(inbox_of(full).size(), 1u);
}

}  // namespace
}  // namespace restante::testing
