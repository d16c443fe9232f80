#include "net/buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace restante::net {
namespace {

void add(Buffer& buffer, std::string_view bytes) {
  std::memcpy(buffer.prepare(bytes.size()), bytes.data(), bytes.size());
  buffer.commit(bytes.size());
}

TEST(Buffer, IsEmptyAtFirstAndOwnsNothing) {
  Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.view(), "");
  buffer.release_if_empty();
  EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, BytesThatAreNotCommittedAreNotInTheBuffer) {
  Buffer buffer;
  std::memcpy(buffer.prepare(8), "abcdefgh", 8);
  buffer.commit(3);
  EXPECT_EQ(buffer.view(), "abc");
}

TEST(Buffer, PrependPutsBytesBeforeTheRest) {
  Buffer buffer;
  add(buffer, "xxworld");
  buffer.consume(2);
  buffer.prepend("hello ");
  EXPECT_EQ(buffer.view(), "hello world");
  buffer.prepend("");
  EXPECT_EQ(buffer.view(), "hello world");
}

TEST(Buffer, PrependToAnEmptyBufferIsItsContent) {
  Buffer buffer;
  buffer.prepend("all of it");
  EXPECT_EQ(buffer.view(), "all of it");
}

TEST(Buffer, ReleaseKeepsBytesThatAreNotConsumed) {
  Buffer buffer;
  add(buffer, "kept");
  buffer.release_if_empty();
  EXPECT_EQ(buffer.view(), "kept");
  buffer.consume(4);
  buffer.release_if_empty();
  add(buffer, "again");
  EXPECT_EQ(buffer.view(), "again");
}

TEST(Buffer, BehavesLikeAStringUnderRandomUse) {
  std::mt19937 random(1);
  Buffer buffer;
  std::string model;
  for (int step = 0; step < 4'000; ++step) {
    const std::size_t size = random() % 300;
    const std::string bytes(size, static_cast<char>('a' + step % 26));
    switch (random() % 5) {
      case 0:
      case 1:
        add(buffer, bytes);
        model += bytes;
        break;
      case 2:
        buffer.prepend(bytes);
        model.insert(0, bytes);
        break;
      case 3: {
        const std::size_t consumed = std::min(model.size(), 2 * size);
        buffer.consume(consumed);
        model.erase(0, consumed);
        break;
      }
      default:
        buffer.release_if_empty();
    }
    ASSERT_EQ(buffer.view(), model);
    ASSERT_EQ(buffer.empty(), model.empty());
  }
}

}  // namespace
}  // namespace restante::net
