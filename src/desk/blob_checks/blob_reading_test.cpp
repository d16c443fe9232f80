#include "desk/blob_checks/blob_walk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace restante::desk {
namespace {

// Returns at most so many bytes at once, and remembers how far it was read.
class TextBlob final : public OpenBlob {
 public:
  TextBlob(std::string text, std::size_t most) : text_(std::move(text)), most_(most) {}
  std::uint64_t size() override { return text_.size(); }
  std::size_t read(std::uint64_t at, std::span<char> into) override {
    asked_until = std::max(asked_until, at + into.size());
    const std::string_view left = std::string_view(text_).substr(std::min<std::size_t>(at, text_.size()));
    const std::size_t got = std::min({left.size(), into.size(), most_});
    std::copy_n(left.begin(), got, into.begin());
    return got;
  }
  std::uint64_t asked_until = 0;

 private:
  const std::string text_;
  const std::size_t most_;
};

std::string read_all(BlobReading& reading, OpenBlob& blob) {
  std::string all;
  std::vector<char> piece(4);
  for (auto bytes = reading.next(blob, piece); !bytes.empty(); bytes = reading.next(blob, piece)) all += bytes;
  return all;
}

TEST(BlobReading, EveryByteIsReadOnceWhateverTheSizeOfThePieces) {
  for (const std::size_t most : {1u, 3u, 100u}) {
    TextBlob blob("ten bytes.", most);
    BlobReading reading(10);
    EXPECT_EQ(read_all(reading, blob), "ten bytes.");
    EXPECT_FALSE(reading.is_too_long());
    EXPECT_TRUE(reading.matches(sha256("ten bytes.")));
  }
  TextBlob nothing("", 1);
  BlobReading empty(0);
  EXPECT_EQ(read_all(empty, nothing), "");
  EXPECT_TRUE(empty.matches(sha256("")));
}

TEST(BlobReading, ChangedOrMissingBytesAreNotAccepted) {
  for (const char* text : {"ten bytes!", "ten byte", ""}) {
    TextBlob blob(text, 3);
    BlobReading reading(10);
    EXPECT_EQ(read_all(reading, blob), text);
    EXPECT_FALSE(reading.matches(sha256("ten bytes."))) << text;
  }
}

TEST(BlobReading, ATooLongBlobIsReadOneByteTooFar) {
  TextBlob blob("ten bytes. and more", 100);
  BlobReading reading(10);
  EXPECT_EQ(read_all(reading, blob), "ten bytes. ");
  EXPECT_TRUE(reading.is_too_long());
  EXPECT_EQ(blob.asked_until, 11u);
  EXPECT_FALSE(reading.matches(sha256("ten bytes. ")));
}

}  // namespace
}  // namespace restante::desk
