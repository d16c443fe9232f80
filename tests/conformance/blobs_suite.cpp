#include "blobs_suite.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

namespace restante::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kMib = std::size_t{1} << 20;

Time wall_clock() { return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()); }
Time long_ago() { return wall_clock() - std::chrono::hours(1); }
Time in_an_hour() { return wall_clock() + std::chrono::hours(1); }

// Not EXPECT_EQ: it would print both contents completely.
void expect_content(Blobs& blobs, const std::string& key, const std::string& bytes) {
  const auto blob = blobs.open(key);
  ASSERT_TRUE(blob) << key;
  EXPECT_EQ(blob->size(), bytes.size());
  EXPECT_TRUE(content(*blob) == bytes) << bytes.size() << " bytes under " << key;
}

}  // namespace

std::string some_bytes(std::size_t size, std::uint32_t seed) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::string put(Blobs& blobs, std::string_view bytes) {
  const auto writer = blobs.put();
  writer->write(bytes);
  return writer->finish();
}

std::string content(OpenBlob& blob, std::size_t step) {
  std::string bytes;
  std::string piece(step, '\0');
  while (const std::size_t got = blob.read(bytes.size(), piece)) bytes.append(piece, 0, got);
  return bytes;
}

std::set<std::string> keys_of(Blobs& blobs, Time before) {
  std::set<std::string> keys;
  std::string from;
  do {
    BlobPage page = blobs.list(from, before);
    for (auto& key : page.keys) EXPECT_TRUE(keys.insert(key).second) << key << " is listed twice";
    from = std::move(page.next);
  } while (!from.empty());
  return keys;
}

void BlobsTest::reopen() {
  blobs.reset();
  blobs = place->open();
}

TEST_P(BlobsTest, ABlobIsReadBackAlsoAfterReopening) {
  const auto key = put(*blobs, "hello");
  expect_content(*blobs, key, "hello");
  reopen();
  expect_content(*blobs, key, "hello");
}

TEST_P(BlobsTest, SizesAroundEveryLimitAreReadBackExactly) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kMib - 1, kMib, kMib + 1, 2 * kMib,
                                 4 * kMib + 3, 5 * kMib - 1, 5 * kMib, 5 * kMib + 1, 25 * kMib}) {
    const auto bytes = some_bytes(size);
    const auto writer = blobs->put();
    for (std::size_t at = 0; at < size; at += 200'000) writer->write(std::string_view(bytes).substr(at, 200'000));
    expect_content(*blobs, writer->finish(), bytes);
  }
}

TEST_P(BlobsTest, ABlobMayBeWrittenInPiecesOfAnySize) {
  const auto bytes = some_bytes(2 * kMib + 7);
  for (const std::size_t first : {std::size_t{1}, kMib - 1, kMib, kMib + 1, bytes.size()}) {
    const auto writer = blobs->put();
    writer->write("");
    writer->write(std::string_view(bytes).substr(0, first));
    writer->write(std::string_view(bytes).substr(first));
    writer->write("");
    expect_content(*blobs, writer->finish(), bytes);
  }
  const auto writer = blobs->put();
  for (std::size_t i = 0; i < 5000; ++i) writer->write(std::string_view(bytes).substr(i, 1));
  expect_content(*blobs, writer->finish(), bytes.substr(0, 5000));
}

TEST_P(BlobsTest, AnyPositionIsReadInAnyOrder) {
  const auto bytes = some_bytes(5 * kMib + 11);
  const auto key = put(*blobs, bytes);
  const auto blob = blobs->open(key);
  ASSERT_TRUE(blob);
  std::mt19937 random(7);
  std::vector<std::uint64_t> places = {0, 1, kMib - 1, kMib, kMib + 1, 5 * kMib, bytes.size() - 1};
  for (int i = 0; i < 60; ++i) places.push_back(random() % bytes.size());
  std::ranges::shuffle(places, random);
  std::string piece(700'000, '\0');
  for (const auto at : places) {
    const std::size_t most = 1 + random() % piece.size();
    const std::size_t got = blob->read(at, std::span(piece).first(most));
    ASSERT_GE(got, 1u) << at;
    ASSERT_LE(got, most);
    ASSERT_LE(at + got, bytes.size());
    EXPECT_TRUE(std::string_view(piece).substr(0, got) == std::string_view(bytes).substr(at, got)) << at;
  }
  EXPECT_EQ(blob->read(bytes.size(), piece), 0u) << "the end is no error";
  EXPECT_EQ(blob->read(0, {}), 0u) << "an empty buffer";
  blob->forget();
  EXPECT_TRUE(content(*blob, 300'001) == bytes) << "and reading in sequence gives the same";
}

TEST_P(BlobsTest, ABlobIsNotListedBeforeItIsFinished) {
  const auto bytes = some_bytes(6 * kMib + 1);
  const auto writer = blobs->put();
  writer->write(bytes);
  EXPECT_THAT(keys_of(*blobs, in_an_hour()), IsEmpty());
  const auto key = writer->finish();
  EXPECT_THAT(keys_of(*blobs, in_an_hour()), UnorderedElementsAre(key));
  expect_content(*blobs, key, bytes);
}

TEST_P(BlobsTest, AnAbandonedWriterLeavesNothing) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, kMib, 3 * kMib, 12 * kMib + 1}) {
    {
      const auto writer = blobs->put();
      writer->write(some_bytes(size));
    }
    EXPECT_THAT(keys_of(*blobs, in_an_hour()), IsEmpty()) << size;
    EXPECT_EQ(blobs->count_unfinished(in_an_hour()), 0u) << size;
    EXPECT_EQ(blobs->drop_unfinished(in_an_hour()), 0u) << size;
  }
}

TEST_P(BlobsTest, KeysAreWellFormedBeginWithTheTimeAndAreUnique) {
  const auto first = put(*blobs, "same");
  const auto second = put(*blobs, "same");
  EXPECT_NE(first, second);
  for (const auto& key : {first, second}) {
    EXPECT_EQ(key.size(), 32u);
    EXPECT_THAT(key, ::testing::MatchesRegex("[0-9a-f]+"));
    const Time made(std::chrono::milliseconds(std::stoll(key.substr(0, 12), nullptr, 16)));
    EXPECT_GT(made, long_ago());
    EXPECT_LT(made, in_an_hour());
  }
}

TEST_P(BlobsTest, AKeyThatIsNotOursOpensAndDropsNothing) {
  const auto key = put(*blobs, "kept");
  const std::vector<std::string> foreign = {
      "",
      "../../etc/passwd",
      key + "0",
      key.substr(1),
      "/" + key.substr(1),
      key.substr(0, 2) + "/../" + key.substr(7),
      std::string(32, '.'),
      std::string(31, 'a') + std::string(1, '\0'),
      std::string(32, 'g'),
      std::string(32, 'A'),
      key.substr(0, 31) + "%",
      "s3:" + key,
      "inline:" + key,
  };
  for (const auto& bad : foreign) {
    EXPECT_EQ(blobs->open(bad), nullptr) << bad;
    EXPECT_NO_THROW(blobs->drop(bad)) << bad;
  }
  EXPECT_NO_THROW(blobs->drop_all(foreign));
  expect_content(*blobs, key, "kept");
}

TEST_P(BlobsTest, AnUnknownKeyOpensNothingAndCanBeDropped) {
  EXPECT_EQ(blobs->open(std::string(32, 'a')), nullptr);
  EXPECT_NO_THROW(blobs->drop(std::string(32, 'a')));
}

TEST_P(BlobsTest, ADroppedBlobIsDeletedAndNoOther) {
  const auto kept = put(*blobs, "kept");
  const auto key = put(*blobs, some_bytes(3 * kMib));
  blobs->drop(key);
  EXPECT_EQ(blobs->open(key), nullptr);
  EXPECT_NO_THROW(blobs->drop(key)) << "again";
  EXPECT_THAT(keys_of(*blobs), UnorderedElementsAre(kept));
  reopen();
  EXPECT_EQ(blobs->open(key), nullptr);
  expect_content(*blobs, kept, "kept");
}

TEST_P(BlobsTest, ManyAreDroppedAtOnceAlsoWithUnknownKeysAmongThem) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 12; ++i) keys.push_back(put(*blobs, some_bytes(i % 4 == 0 ? 4 * kMib : i * 1000)));
  const auto kept = put(*blobs, "kept");
  keys.insert(keys.begin() + 3, std::string(32, 'a'));
  keys.insert(keys.begin() + 5, "not a key");
  blobs->drop_all(keys);
  EXPECT_THAT(keys_of(*blobs), UnorderedElementsAre(kept));
  EXPECT_EQ(blobs->drop_unfinished(in_an_hour()), 0u) << "no part of them is left";
  blobs->drop_all({});
  expect_content(*blobs, kept, "kept");
}

TEST_P(BlobsTest, EverythingIsListedInSteps) {
  std::set<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.insert(put(*blobs, "x"));
  blobs->drop(*keys.begin());
  keys.erase(keys.begin());
  const auto unfinished = blobs->put();
  unfinished->write("not yet");
  EXPECT_EQ(keys_of(*blobs), keys);
  EXPECT_EQ(keys_of(*blobs, in_an_hour()), keys);
}

TEST_P(BlobsTest, YoungerBlobsAreNotListed) {
  const auto key = put(*blobs, "x");
  EXPECT_THAT(keys_of(*blobs, in_an_hour()), UnorderedElementsAre(key));
  EXPECT_THAT(keys_of(*blobs, long_ago()), IsEmpty());
}

TEST_P(BlobsTest, DroppingOldUnfinishedBlobsTouchesNeitherYoungNorFinishedOnes) {
  const auto key = put(*blobs, "finished");
  const auto bytes = some_bytes(7 * kMib);
  const auto writer = blobs->put();
  writer->write(bytes);
  EXPECT_EQ(blobs->drop_unfinished(long_ago()), 0u);
  writer->write("and the rest");
  expect_content(*blobs, writer->finish(), bytes + "and the rest");
  EXPECT_EQ(blobs->drop_unfinished(in_an_hour()), 0u);
  expect_content(*blobs, key, "finished");
}

TEST_P(BlobsTest, AWriterWhoseUnfinishedBlobWasDroppedIsRefusedOrFinishesItWhole) {
  for (const std::size_t size : {std::size_t{100}, kMib + 1, 7 * kMib}) {
    const auto bytes = some_bytes(size);
    const auto writer = blobs->put();
    writer->write(bytes);
    const std::size_t begun = blobs->count_unfinished(in_an_hour());
    std::size_t dropped = 0;
    // A blob that is being written at this moment may be skipped: the next call finds it.
    while (blobs->count_unfinished(in_an_hour()) > 0) dropped += blobs->drop_unfinished(in_an_hour());
    EXPECT_LE(begun, dropped) << "a counted blob is dropped; its first bytes may have come only after the count";
    EXPECT_LE(dropped, 1u);
    try {
      writer->write(bytes);
      expect_content(*blobs, writer->finish(), bytes + bytes);
    } catch (const Unavailable&) {
      EXPECT_LE(keys_of(*blobs).size(), 2u) << "the blobs that were finished before";
    }
  }
  for (const auto& key : keys_of(*blobs)) {
    const auto blob = blobs->open(key);
    ASSERT_TRUE(blob);
    EXPECT_EQ(content(*blob).size(), blob->size()) << "every listed blob is complete";
  }
}

TEST_P(BlobsTest, ManyThreadsWriteReadAndDropAtOnce) {
  std::array<std::set<std::string>, 6> kept;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 6; ++i) {
        const auto bytes = some_bytes(i % 3 == 2 ? 2 * kMib + t : 1000 * i + t, static_cast<std::uint32_t>(t * 10 + i));
        const auto key = put(*blobs, bytes);
        expect_content(*blobs, key, bytes);
        if (i % 2 == 0) {
          blobs->drop(key);
          EXPECT_EQ(blobs->open(key), nullptr);
        } else {
          kept[t].insert(key);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& keys : kept) all.insert(keys.begin(), keys.end());
  EXPECT_EQ(all.size(), 18u);
  EXPECT_EQ(keys_of(*blobs), all);
}

TEST_P(BlobsTest, ManyThreadsReadTheSameBlobAtOnce) {
  const auto bytes = some_bytes(4 * kMib + 9);
  const auto key = put(*blobs, bytes);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto blob = blobs->open(key);
      ASSERT_TRUE(blob);
      EXPECT_TRUE(content(*blob, 50'000 * (t + 1)) == bytes);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(BlobsTest, ACheckOfAHealthyPlacePassesAndLeavesNothing) {
  blobs->check();
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
  EXPECT_EQ(blobs->drop_unfinished(in_an_hour()), 0u);
}

}  // namespace restante::testing
