// Blobs in the database survive a kill: a child writes blobs and sends their keys through a pipe, the parent kills it
// in the middle of its work and checks the blobs. A second test kills at every statement.
#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "backends.h"
#include "blobs_suite.h"
#include "killed.h"
#include "store/inline/blobs.h"

namespace restante::testing {
namespace {

constexpr std::size_t kKeyDigits = 32;

// A finished blob: small enough that a write to the pipe is never torn.
struct Finished {
  char key[kKeyDigits];
  std::uint64_t size;
  std::uint32_t seed;
};

class ChunksKill : public ::testing::TestWithParam<BackendKind> {
 protected:
  static std::size_t size_of(std::uint32_t seed) {
    static constexpr std::size_t kSizes[] = {10, kChunkBytes - 1, kChunkBytes, kChunkBytes + 1, 3 * kChunkBytes + 7};
    return kSizes[seed % std::size(kSizes)];
  }

  // Runs in the child, for ever.
  static void write_on(Blobs& blobs, std::uint32_t seed, int pipe) {
    for (;; seed += 100) {
      const auto bytes = some_bytes(size_of(seed), seed);
      const auto key = put(blobs, bytes);
      Finished reported{{}, bytes.size(), seed};
      key.copy(reported.key, kKeyDigits);
      if (write(pipe, &reported, sizeof reported) != sizeof reported) _exit(3);
    }
  }

  static void work(Backend& backend, int pipe) {
    const SystemClock clock;
    const auto store = backend.open();
    const auto blobs = inlined::open(store->chunks(), clock);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 6; ++t) threads.emplace_back([&, t] { write_on(*blobs, t, pipe); });
    for (auto& thread : threads) thread.join();
  }

  // Every blob is complete and has the content that was written; after unfinished ones are dropped there is nothing
  // else.
  static void expect_all_whole(Blobs& blobs) {
    for (const auto& key : keys_of(blobs)) {
      const auto blob = blobs.open(key);
      ASSERT_TRUE(blob);
      EXPECT_EQ(content(*blob).size(), blob->size());
    }
    blobs.drop_unfinished(Time::max());
    EXPECT_EQ(blobs.drop_unfinished(Time::max()), 0u);
  }

  const SystemClock clock;
};
RESTANTE_EVERY_BACKEND(ChunksKill);

TEST_P(ChunksKill, FinishedBlobsAreCompleteAndNothingElseExists) {
  const auto backend = GetParam().make();
  std::vector<Finished> reported;
  for (const std::size_t kill_after : {1, 20, 33}) {
    const auto more = run_and_kill<Finished>([&](int pipe) { work(*backend, pipe); }, kill_after);
    EXPECT_GE(more.size(), kill_after);
    reported.insert(reported.end(), more.begin(), more.end());
  }
  backend->wait_until_unused();
  const auto store = backend->open();
  const auto blobs = inlined::open(store->chunks(), clock);
  const auto keys = keys_of(*blobs);
  for (const auto& one : reported) {
    const std::string key(one.key, kKeyDigits);
    EXPECT_TRUE(keys.contains(key));
    const auto blob = blobs->open(key);
    ASSERT_TRUE(blob) << key;
    EXPECT_TRUE(content(*blob) == some_bytes(one.size, one.seed)) << key << ", " << one.size << " bytes";
  }
  // Blobs that were finished but not reported before the kill may exist, too.
  EXPECT_LE(keys.size(), reported.size() + 3 * 6);
  expect_all_whole(*blobs);
  EXPECT_EQ(keys_of(*blobs), keys) << "dropping unfinished blobs deletes no finished one";
}

TEST_P(ChunksKill, KilledAtAnyStatementABlobIsCompleteOrDoesNotExist) {
  const auto bytes = some_bytes(2 * kChunkBytes + 9);
  const auto backend = GetParam().make();
  backend->open();
  bool finished = false;
  for (int statement = 1; !finished; ++statement) {
    ASSERT_LT(statement, 200);
    const KillOutcome kill_outcome = kill_at_statement(
        statement, [&] { return backend->open(); },
        [&](Store& store) {
          const SystemClock wall;
          const auto blobs = inlined::open(store.chunks(), wall);
          const auto key = put(*blobs, bytes);
          put(*blobs, "second");
          blobs->drop(key);
        });
    ASSERT_NE(kill_outcome, KillOutcome::failed);
    finished = kill_outcome == KillOutcome::finished;
    backend->wait_until_unused();
    const auto store = backend->open();
    const auto blobs = inlined::open(store->chunks(), clock);
    for (const auto& key : keys_of(*blobs)) {
      const auto blob = blobs->open(key);
      ASSERT_TRUE(blob);
      const auto there = content(*blob);
      EXPECT_TRUE(there == bytes || there == "second") << "killed at statement " << statement << ": " << there.size();
    }
    const auto keys = keys_of(*blobs);
    expect_all_whole(*blobs);
    EXPECT_EQ(keys_of(*blobs), keys);
    if (finished) {
      EXPECT_EQ(keys.size(), 1u);
    }
    blobs->drop_all(std::vector(keys.begin(), keys.end()));
  }
}

}  // namespace
}  // namespace restante::testing
