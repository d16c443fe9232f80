// Reads an object by windows, through a proxy that counts the requests.
#include "store/s3/object_reader.h"

#include <gtest/gtest.h>

#include "fault_proxy.h"

namespace restante::testing {
namespace {

using s3::ObjectReader;
using s3::payload_of;

class S3Reader : public ::testing::Test {
 protected:
  S3Reader() { EXPECT_TRUE(client.bucket().put(key, payload_of(bytes)).has_value()); }
  ObjectReader reader() { return {client.bucket(), key, client.bucket().head(key).value().value()}; }
  long gets() const { return proxy.count("GET "); }

  FaultProxy proxy;
  S3Client client{proxy.url()};
  const std::string key = fresh_key("reader");
  const std::string bytes = some_bytes(3'000'000);
};

TEST_F(S3Reader, ASequentialReadNeedsFewRequests) {
  auto object = reader();
  EXPECT_EQ(object.size(), bytes.size());
  std::string all;
  std::vector<char> piece(100'000);
  for (std::size_t got = 0; (got = object.read(all.size(), piece).value()) > 0;) all.append(piece.data(), got);
  EXPECT_TRUE(all == bytes);
  EXPECT_EQ(gets(), 5) << "windows of 100, 200, 400, 800 and the last 1500 thousand bytes";
}

TEST_F(S3Reader, ASmallReadFetchesASmallRange) {
  auto object = reader();
  char some[10];
  EXPECT_EQ(object.read(1'234'567, some).value(), 10u);
  EXPECT_EQ(std::string_view(some, 10), std::string_view(bytes).substr(1'234'567, 10));
  EXPECT_EQ(object.read(5, some).value(), 10u) << "also backwards";
  EXPECT_EQ(std::string_view(some, 10), std::string_view(bytes).substr(5, 10));
  EXPECT_EQ(object.read(bytes.size() - 3, some).value(), 3u);
  EXPECT_EQ(object.read(bytes.size(), some).value(), 0u);
  EXPECT_EQ(object.read(bytes.size() + 7, some).value(), 0u);
  EXPECT_EQ(gets(), 3);
}

TEST_F(S3Reader, AReadOfAReplacedObjectFails) {
  auto object = reader();
  std::vector<char> piece(1000);
  EXPECT_EQ(object.read(0, piece).value(), 1000u);
  EXPECT_TRUE(client.bucket().put(key, payload_of(std::string(bytes.size(), 'x'))).has_value());
  const auto read = object.read(1000, piece);
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().status, 412);
}

TEST_F(S3Reader, AnObjectThatWasDeletedIsMissing) {
  auto object = reader();
  EXPECT_TRUE(client.bucket().drop(std::array{key}).has_value());
  std::vector<char> piece(1000);
  const auto read = object.read(0, piece);
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().status, 404);
}

}  // namespace
}  // namespace restante::testing
