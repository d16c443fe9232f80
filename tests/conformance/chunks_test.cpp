// What Chunks promises beyond Blobs: when a write is refused, what a step may cost, what a missing chunk means.
#include <gmock/gmock.h>

#include <thread>

#include "backends.h"
#include "base/test_clock.h"
#include "blobs_suite.h"
#include "store/blob_key.h"
#include "store/inline/blobs.h"

namespace restante::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChunksTest : public StoreTest {
 protected:
  Chunks& chunks() { return store->chunks(); }
  static std::string key_at(std::int64_t seconds) { return new_blob_key(at(seconds)); }
  void append(const std::string& key, std::int64_t number, std::string bytes, Time now = at(0)) {
    chunks().append({key, number, std::move(bytes)}, now).take().value();
  }
  void finish(const std::string& key, std::int64_t number, std::string bytes, Time now = at(0)) {
    chunks().finish({key, number, std::move(bytes)}, now).take().value();
  }
  std::string read(const std::string& key, std::int64_t number, std::size_t from, std::size_t count) {
    std::string bytes(count, '\0');
    bytes.resize(chunks().read(key, number, from, bytes));
    return bytes;
  }
  ChunkDrop drop(std::vector<std::string> keys) { return chunks().drop(std::move(keys)).take().value(); }
  ChunkDrop drop_unfinished(Time before) { return chunks().drop_unfinished(before).take().value(); }

  ManualClock clock{at(0)};
};
RESTANTE_EVERY_BACKEND(ChunksTest);

TEST_P(ChunksTest, ABlobIsFoundOnceItIsFinishedAndNotBefore) {
  const auto key = key_at(0);
  append(key, 0, std::string(kChunkBytes, 'a'));
  EXPECT_EQ(chunks().find(key), std::nullopt);
  append(key, 1, std::string(kChunkBytes, 'b'));
  EXPECT_EQ(chunks().find(key), std::nullopt);
  finish(key, 2, "end");
  EXPECT_EQ(chunks().find(key), 2 * kChunkBytes + 3);
  reopen();
  EXPECT_EQ(chunks().find(key), 2 * kChunkBytes + 3);
  EXPECT_EQ(read(key, 2, 0, 100), "end");
}

TEST_P(ChunksTest, PartsOfAChunkAreReadExactly) {
  const auto key = key_at(0);
  const auto bytes = some_bytes(kChunkBytes);
  append(key, 0, bytes);
  finish(key, 1, "");
  for (const std::size_t from :
       {std::size_t{0}, std::size_t{1}, std::size_t{1995}, std::size_t{4096}, kChunkBytes - 1}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2000}, kChunkBytes}) {
      EXPECT_TRUE(read(key, 0, from, count) == bytes.substr(from, count)) << from << ' ' << count;
    }
  }
  EXPECT_EQ(read(key, 0, kChunkBytes, 10), "");
  EXPECT_EQ(read(key, 1, 0, 10), "") << "no such chunk";
  EXPECT_EQ(read(key_at(0), 0, 0, 10), "") << "no such blob";
  EXPECT_EQ(chunks().find(key), kChunkBytes) << "an empty end is no chunk";
}

TEST_P(ChunksTest, AWriteThatDoesNotFindTheChunkBeforeItIsRefusedAndChangesNothing) {
  const auto key = key_at(0);
  EXPECT_THROW(append(key, 1, "x"), Unavailable) << "never begun";
  EXPECT_THROW(finish(key, 1, "x"), Unavailable);
  append(key, 0, std::string(kChunkBytes, 'a'));
  EXPECT_THROW(append(key, 2, "x"), Unavailable) << "one is missing";
  EXPECT_THROW(finish(key, 2, ""), Unavailable);
  EXPECT_EQ(chunks().find(key), std::nullopt);
  finish(key, 1, "b");
  EXPECT_THROW(append(key, 2, "x"), Unavailable) << "it is finished";
  EXPECT_THROW(finish(key, 2, "x"), Unavailable);
  EXPECT_EQ(chunks().find(key), kChunkBytes + 1);
}

TEST_P(ChunksTest, ARefusedWriteFailsNoOtherOfItsGroup) {
  std::vector<std::string> keys;
  std::vector<Commit<Result<void>>> good;
  std::vector<Commit<Result<void>>> bad;
  for (int i = 0; i < 20; ++i) {
    keys.push_back(key_at(i));
    good.push_back(chunks().finish({keys.back(), 0, "whole"}, at(0)));
    bad.push_back(chunks().append({key_at(i), 3, "lost"}, at(0)));
  }
  for (auto& commit : good) EXPECT_NO_THROW(commit.take().value());
  for (auto& commit : bad) EXPECT_THROW(commit.take().value(), Unavailable);
  for (const auto& key : keys) EXPECT_EQ(chunks().find(key), 5u);
}

TEST_P(ChunksTest, ADroppedBlobTakesNoMoreChunks) {
  const auto key = key_at(0);
  append(key, 0, std::string(kChunkBytes, 'a'));
  EXPECT_EQ(drop({key}).blobs, 1);
  EXPECT_THROW(append(key, 1, "x"), Unavailable);
  EXPECT_THROW(finish(key, 1, ""), Unavailable);
  EXPECT_EQ(chunks().find(key), std::nullopt);
  EXPECT_EQ(drop_unfinished(at(1000)).blobs, 0);
  EXPECT_EQ(drop({}).blobs, 0) << "no keys";
}

TEST_P(ChunksTest, LargeBlobsAreDroppedInStepsAndAreInvisibleMeanwhile) {
  const auto large = key_at(0);
  for (int i = 0; i < 70; ++i) append(large, i, std::string(1000, 'x'));
  finish(large, 70, "");
  const auto small = key_at(1);
  finish(small, 0, "small");
  ChunkDrop step = drop({large, small});
  EXPECT_TRUE(step.more) << "70 chunks are more than one step";
  EXPECT_EQ(chunks().find(large), std::nullopt);
  EXPECT_EQ(chunks().find(small), std::nullopt);
  EXPECT_THAT(chunks().list("", Time::max(), 10), IsEmpty());
  EXPECT_THROW(append(large, 71, "x"), Unavailable);
  std::int64_t blobs = step.blobs;
  for (int steps = 1; step.more; ++steps) {
    ASSERT_LT(steps, 10);
    step = drop({large, small});
    blobs += step.blobs;
  }
  EXPECT_EQ(blobs, 2);
  EXPECT_EQ(read(large, 69, 0, 10), "");
}

TEST_P(ChunksTest, BlobsDropALargeOneCompletelyInOneCall) {
  const auto blobs = inlined::open(chunks(), clock);
  const auto key = key_at(0);
  for (int i = 0; i < 70; ++i) append(key, i, "x");
  finish(key, 70, "");
  blobs->drop(key);
  for (const int number : {0, 33, 69}) EXPECT_EQ(read(key, number, 0, 1), "") << number;
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u);
}

TEST_P(ChunksTest, AHalfDroppedBlobCountsAsUnfinishedWhateverItsAge) {
  const auto key = key_at(1000);
  for (int i = 0; i < 40; ++i) append(key, i, "x", at(1000));
  finish(key, 40, "", at(1000));
  EXPECT_TRUE(drop({key}).more);
  ChunkDrop step = drop_unfinished(at(0));
  EXPECT_FALSE(step.more);
  EXPECT_EQ(step.blobs, 1);
  EXPECT_EQ(read(key, 39, 0, 10), "");
}

TEST_P(ChunksTest, ALargeUnfinishedBlobIsDroppedInStepsAndTakesNoChunkAfterTheFirst) {
  const auto key = key_at(0);
  for (int i = 0; i < 40; ++i) append(key, i, "x");
  ChunkDrop step = drop_unfinished(at(1));
  EXPECT_TRUE(step.more);
  EXPECT_EQ(step.blobs, 0) << "some of its chunks are left";
  EXPECT_EQ(chunks().count_unfinished(at(1)), 1);
  EXPECT_THROW(append(key, 40, "x"), Unavailable);
  EXPECT_THROW(finish(key, 40, ""), Unavailable);
  step = drop_unfinished(at(1));
  EXPECT_FALSE(step.more);
  EXPECT_EQ(step.blobs, 1);
  EXPECT_EQ(chunks().count_unfinished(at(1)), 0);
}

TEST_P(ChunksTest, TheAgeOfAnUnfinishedBlobCountsFromItsLastChunk) {
  const auto touched = key_at(0);
  const auto left = key_at(1);
  append(touched, 0, "a", at(0));
  append(left, 0, "a", at(1));
  append(touched, 1, "b", at(5000));
  EXPECT_EQ(drop_unfinished(at(1)).blobs, 0);
  EXPECT_EQ(chunks().count_unfinished(at(1)), 0);
  EXPECT_EQ(chunks().count_unfinished(at(5000)), 1);
  EXPECT_EQ(drop_unfinished(at(5000)).blobs, 1) << "counting does not drop it";
  EXPECT_EQ(chunks().count_unfinished(at(5000)), 0);
  EXPECT_THROW(finish(left, 1, ""), Unavailable);
  finish(touched, 2, "c", at(5001));
  EXPECT_EQ(chunks().find(touched), 3u);
  EXPECT_EQ(drop_unfinished(Time::max()).blobs, 0) << "finished blobs are not dropped";
}

TEST_P(ChunksTest, ManyUnfinishedBlobsAreDroppedInSteps) {
  constexpr int kMany = 300;
  std::vector<Commit<Result<void>>> writes;
  for (int i = 0; i < kMany; ++i) writes.push_back(chunks().append({key_at(i), 0, "x"}, at(i)));
  for (auto& write : writes) write.take().value();
  std::int64_t blobs = 0;
  int steps = 0;
  for (ChunkDrop step{0, true}; step.more; ++steps) {
    step = drop_unfinished(at(kMany));
    blobs += step.blobs;
  }
  EXPECT_EQ(blobs, kMany);
  EXPECT_GT(steps, 1);
}

TEST_P(ChunksTest, BlobsAreListedByKeyAndByTheTimeTheyWereFinished) {
  const auto first = key_at(10), second = key_at(20), third = key_at(30), unfinished = key_at(15);
  finish(third, 0, "c", at(31));
  finish(first, 0, "a", at(1000));  // from a slow sender
  finish(second, 0, "b", at(21));
  append(unfinished, 0, "d", at(16));
  EXPECT_THAT(chunks().list("", Time::max(), 10), ElementsAre(first, second, third));
  EXPECT_THAT(chunks().list(first, Time::max(), 10), ElementsAre(second, third));
  EXPECT_THAT(chunks().list(third, Time::max(), 10), IsEmpty());
  EXPECT_THAT(chunks().list("", Time::max(), 2), ElementsAre(first, second));
  EXPECT_THAT(chunks().list("", at(1000), 10), ElementsAre(second, third)) << "its age counts from its end";
  EXPECT_THAT(chunks().list("", at(1001), 10), ElementsAre(first, second, third));
  EXPECT_THAT(chunks().list("", at(31), 10), ElementsAre(second));
  EXPECT_THAT(chunks().list("", at(5), 10), IsEmpty());
}

TEST_P(ChunksTest, ListingTheBlobsTakesBoundedSteps) {
  constexpr std::size_t kMany = 1100;
  std::vector<Commit<Result<void>>> writes;
  for (std::size_t i = 0; i < kMany; ++i) {
    writes.push_back(chunks().finish({key_at(static_cast<std::int64_t>(i)), 0, "x"}, at(0)));
  }
  for (auto& write : writes) write.take().value();
  const auto blobs = inlined::open(chunks(), clock);
  std::size_t listed = 0;
  std::size_t steps = 0;
  std::string from;
  do {
    const auto page = blobs->list(from, Time::max());
    EXPECT_LE(page.keys.size(), 500u);
    listed += page.keys.size();
    ++steps;
    from = page.next;
  } while (!from.empty());
  EXPECT_EQ(listed, kMany);
  EXPECT_GE(steps, 3u);
  EXPECT_EQ(keys_of(*blobs).size(), kMany);
}

TEST_P(ChunksTest, AMissingChunkIsAFailureButADroppedBlobIsAnEnd) {
  const auto blobs = inlined::open(chunks(), clock);
  const auto bytes = some_bytes(2 * kChunkBytes + 5);
  const auto key = put(*blobs, bytes);
  const auto blob = blobs->open(key);
  ASSERT_TRUE(blob);
  // The same without its middle and end: its row claims that it is complete.
  const auto holed = key_at(1);
  append(holed, 0, std::string(10, 'a'));
  finish(holed, 1, "b");
  const auto with_hole = blobs->open(holed);
  ASSERT_TRUE(with_hole);
  EXPECT_EQ(with_hole->size(), 11u);
  std::string piece(100, '\0');
  EXPECT_EQ(with_hole->read(0, piece), 10u);
  EXPECT_THROW(with_hole->read(10, piece), Unavailable) << "its first chunk is short";
  blobs->drop(key);
  EXPECT_EQ(blob->read(0, piece), 0u);
  EXPECT_EQ(blob->size(), 0u);
}

TEST_P(ChunksTest, MoreWritersAtOnceThanTheQueueTakesAreSlowAndNoneIsRefused) {
  const auto blobs = inlined::open(chunks(), clock);
  constexpr std::size_t kWriters = 100;  // a queue takes 64 MiB
  const auto bytes = some_bytes(kChunkBytes + 1);
  std::vector<std::unique_ptr<BlobWriter>> writers;
  for (std::size_t i = 0; i < kWriters; ++i) writers.push_back(blobs->put());
  std::vector<std::string> keys(kWriters);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_NO_THROW({
        writers[i]->write(bytes);
        keys[i] = writers[i]->finish();
      });
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& key : keys) EXPECT_EQ(chunks().find(key), bytes.size());
}

TEST_P(ChunksTest, BetweenTwoChunksNothingIsLocked) {
  const auto blobs = inlined::open(chunks(), clock);
  const auto slow = blobs->put();
  slow->write(std::string(2 * kChunkBytes, 's'));
  // If the slow writer locked anything (rows, the lane, a whole table), these would wait for it.
  make_workspace("meanwhile");
  put(*blobs, std::string(3 * kChunkBytes, 'f'));
  EXPECT_EQ(blobs->drop_unfinished(at(-1)), 0u);
  slow->write("end");
  const auto blob = blobs->open(slow->finish());
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->size(), 2 * kChunkBytes + 3);
}

TEST_P(ChunksTest, WithoutTheTablesChunksAreUnavailable) {
  store.reset();
  store = backend->open_before("uploads");
  EXPECT_THROW(append(key_at(0), 0, "x"), Unavailable);
  EXPECT_THROW(finish(key_at(0), 0, "x"), Unavailable);
  EXPECT_THROW(chunks().find(key_at(0)), Unavailable);
  EXPECT_THROW(read(key_at(0), 0, 0, 1), Unavailable);
  EXPECT_THROW(drop({key_at(0)}), Unavailable);
  EXPECT_THROW(drop_unfinished(at(0)), Unavailable);
  EXPECT_THROW(chunks().count_unfinished(at(0)), Unavailable);
  EXPECT_THROW(chunks().list("", at(0), 1), Unavailable);
  const auto blobs = inlined::open(chunks(), clock);
  EXPECT_THROW(blobs->check(), Unavailable);
  auto writer = blobs->put();
  writer->write(std::string(kChunkBytes + 1, 'x'));
  EXPECT_NO_THROW(writer.reset()) << "the write has failed, and dropping fails, too";
}

TEST_P(ChunksTest, AWriterThatHasEndedTakesNothingMore) {
  const auto blobs = inlined::open(chunks(), clock);
  const auto finished = blobs->put();
  finished->write("whole");
  const auto key = finished->finish();
  EXPECT_THROW(finished->write("more"), std::logic_error);
  EXPECT_THROW(finished->finish(), std::logic_error);
  const auto refused = blobs->put();
  refused->write(std::string(kChunkBytes + 1, 'x'));
  while (blobs->drop_unfinished(Time::max()) == 0) std::this_thread::yield();  // until its first chunk has arrived
  EXPECT_THROW(refused->finish(), Unavailable);
  EXPECT_THROW(refused->write("more"), std::logic_error);
  EXPECT_THROW(refused->finish(), std::logic_error);
  EXPECT_EQ(chunks().find(key), 5u);
}

TEST_P(ChunksTest, AnAbandonedWriterLeavesNothingHoweverLargeTheBlobIs) {
  const auto blobs = inlined::open(chunks(), clock);
  auto writer = blobs->put();
  for (int i = 0; i < 35; ++i) writer->write(std::string(kChunkBytes, 'x'));  // more than one step drops
  writer.reset();
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u);
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
}

TEST_P(ChunksTest, AStoreClosesRightAfterAWriterWasAbandoned) {
  auto blobs = inlined::open(chunks(), clock);
  auto writer = blobs->put();
  writer->write(std::string(2 * kChunkBytes + 1, 'x'));
  EXPECT_NO_THROW(writer.reset());
  EXPECT_EQ(blobs->drop_unfinished(Time::max()), 0u);
  blobs.reset();
  EXPECT_NO_THROW(reopen());
}

}  // namespace
}  // namespace restante::testing
