// The S3 client against a real server that verifies signatures.
#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "client/test_server.h"
#include "s3_server.h"
#include "store/s3/explain.h"

namespace restante::testing {
namespace {

using s3::Bucket;
using s3::payload_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string failure_of(const client::Outcome<void>& outcome) {
  return outcome.has_error() ? outcome.error().sentence : "no failure";
}

TEST(S3Bucket, AnObjectIsFoundAndReadWholeAndInPart) {
  S3Client client;
  const auto key = fresh_key();
  const auto bytes = some_bytes(300'000);
  ASSERT_TRUE(client.bucket().put(key, payload_of(bytes)).has_value());
  EXPECT_EQ(client.bucket().head(key).value().value().size, bytes.size());
  EXPECT_TRUE(content_of(client.bucket(), key) == bytes);
  std::string part;
  const auto read = client.bucket().get(key, 123'456, 1000, [&](std::string_view some) { return part += some, true; });
  EXPECT_TRUE(read.has_value()) << failure_of(read);
  EXPECT_TRUE(part == bytes.substr(123'456, 1000));
}

TEST(S3Bucket, AnEmptyObjectIsAnObject) {
  S3Client client;
  const auto key = fresh_key();
  ASSERT_TRUE(client.bucket().put(key, payload_of("")).has_value());
  EXPECT_EQ(client.bucket().head(key).value().value().size, 0u);
  EXPECT_EQ(content_of(client.bucket(), key), "");
}

TEST(S3Bucket, AnObjectThatDoesNotExistIsMissingAndCanBeDropped) {
  S3Client client;
  const auto key = fresh_key();
  EXPECT_FALSE(client.bucket().head(key).value());
  const auto read = client.bucket().get(key, 0, 10, [](std::string_view) { return true; });
  ASSERT_TRUE(read.has_error());
  EXPECT_TRUE(s3::is_missing(read.error())) << read.error().sentence;
  EXPECT_TRUE(client.bucket().drop(std::array{key}).has_value());
  EXPECT_TRUE(client.bucket().drop(std::array{key, fresh_key()}).has_value());
}

TEST(S3Bucket, OddKeysAreSignedAsTheServerReadsThem) {
  S3Client client;
  const auto prefix = fresh_key("odd") + "/";
  const std::vector<std::string> names = {
      "a b", "a+b", "a=b@c'd(e)f:g,h", "100%", "%2f", "~-._", "\xc3\xa9\xe1\x88\xb4", "a&b<c>", "a;b", "a*b!c", "x//y"};
  std::set<std::string> keys;
  for (const auto& name : names) {
    const auto put = client.bucket().put(prefix + name, payload_of(name));
    ASSERT_TRUE(put.has_value()) << name << ": " << failure_of(put);
    EXPECT_EQ(content_of(client.bucket(), prefix + name), name);
    keys.insert(prefix + name);
  }
  std::set<std::string> listed;
  const auto page = client.bucket().list(prefix, "").value();
  for (const auto& object : page.objects) listed.insert(object.key);
  EXPECT_EQ(listed, keys);
  const std::vector<std::string> all(keys.begin(), keys.end());
  ASSERT_TRUE(client.bucket().drop(all).has_value());
  EXPECT_TRUE(client.bucket().list(prefix, "").value().objects.empty());
}

TEST(S3Bucket, AListContinuesPageByPage) {
  S3Client client;
  const auto prefix = fresh_key("many") + "/";
  std::vector<std::string> keys;
  for (int i = 0; i < 7; ++i) {
    keys.push_back(prefix + std::to_string(i));
    ASSERT_TRUE(client.bucket().put(keys.back(), payload_of("x")).has_value());
  }
  std::vector<std::string> listed;
  int pages = 0;
  for (std::string from; pages == 0 || !from.empty(); ++pages) {
    const auto page = client.bucket().list(prefix, from, 3).value();
    for (const auto& object : page.objects) listed.push_back(object.key);
    from = page.next;
  }
  EXPECT_EQ(listed, keys);
  EXPECT_EQ(pages, 3);
  ASSERT_TRUE(client.bucket().drop(keys).has_value());
  EXPECT_TRUE(client.bucket().list(prefix, "").value().objects.empty());
}

TEST(S3Bucket, AWrongSecretIsRefusedAndTheSentenceDoesNotContainIt) {
  S3Client client;
  client.credentials.access_key = s3_server().access_key;
  client.credentials.secret_key = "not-the-secret";
  const auto put = client.bucket().put(fresh_key(), payload_of("x"));
  ASSERT_TRUE(put.has_error());
  EXPECT_EQ(put.error().code, "SignatureDoesNotMatch");
  EXPECT_THAT(put.error().sentence, HasSubstr("secret key is not the right one"));
  EXPECT_THAT(put.error().sentence, Not(HasSubstr("not-the-secret")));
  EXPECT_TRUE(client.bucket().check().has_error());
}

TEST(S3Bucket, AnUnknownAccessKeyIsRefused) {
  S3Client client;
  client.credentials.access_key = "test:nobody";
  client.credentials.secret_key = "testing";
  const auto check = client.bucket().check();
  ASSERT_TRUE(check.has_error());
  EXPECT_EQ(check.error().status, 403) << check.error().sentence;
}

TEST(S3Bucket, AWrongRegionIsExplainedWithTheRightOne) {
  S3Client client;
  client.options.region = "mars-north-1";
  const auto check = client.bucket().check();
  ASSERT_TRUE(check.has_error());
  EXPECT_THAT(check.error().sentence, HasSubstr("region us-east-1, not in mars-north-1"));
}

TEST(S3Bucket, AClockThatIsWrongIsExplainedWithHowMuch) {
  for (const auto hours : {-2, 2}) {
    S3Client client;
    client.clock.jump(std::chrono::hours(hours));
    const auto check = client.bucket().check();
    ASSERT_TRUE(check.has_error());
    EXPECT_THAT(check.error().sentence, HasSubstr("clock is wrong")) << check.error().code;
    EXPECT_THAT(check.error().sentence, HasSubstr(hours < 0 ? "behind" : "ahead"));
  }
}

TEST(S3Bucket, ABucketThatDoesNotExistIsNamedInTheSentence) {
  S3Client client;
  client.options.bucket = "no-such-bucket";
  const auto check = client.bucket().check();
  ASSERT_TRUE(check.has_error());
  EXPECT_THAT(check.error().sentence, HasSubstr("there is no bucket no-such-bucket"));
  S3Client right;
  EXPECT_TRUE(right.bucket().check().has_value()) << failure_of(right.bucket().check());
}

TEST(S3Bucket, APayloadThatDoesNotMatchItsDigestIsNotStored) {
  S3Client client;
  client.options.attempts = 2;
  const auto key = fresh_key();
  auto payload = payload_of("what arrives");
  payload.digest = sha256("what was meant");
  EXPECT_TRUE(client.bucket().put(key, payload).has_error());
  EXPECT_FALSE(client.bucket().head(key).value());
}

TEST(S3Bucket, AnUploadByPartsIsVisibleOnceItIsComplete) {
  S3Client client;
  auto& bucket = client.bucket();
  const auto key = fresh_key();
  const auto first = some_bytes(s3::kPartBytes);
  const auto upload = bucket.begin(key).value();
  std::vector<s3::Part> parts = {bucket.put_part(key, upload, 1, payload_of(first)).value(),
                                 bucket.put_part(key, upload, 2, payload_of("the end")).value()};
  EXPECT_FALSE(bucket.head(key).value());
  const auto completed = bucket.complete(key, upload, parts, first.size() + 7);
  ASSERT_TRUE(completed.has_value()) << failure_of(completed);
  EXPECT_TRUE(content_of(bucket, key) == first + "the end");
  EXPECT_TRUE(bucket.abort(key, upload).has_value()) << "aborting a complete upload changes nothing";
  EXPECT_TRUE(bucket.head(key).value());
}

TEST(S3Bucket, AnUnfinishedUploadIsListedUntilItIsAborted) {
  S3Client client;
  auto& bucket = client.bucket();
  const auto key = fresh_key("open");
  const auto upload = bucket.begin(key).value();
  const auto listed = bucket.list_uploads(key, {}).value();
  ASSERT_EQ(listed.uploads.size(), 1u);
  EXPECT_EQ(listed.uploads[0].key, key);
  EXPECT_EQ(listed.uploads[0].id, upload);
  EXPECT_LT(std::chrono::abs(listed.uploads[0].begun - SystemClock().now()), std::chrono::hours(1));
  ASSERT_TRUE(bucket.abort(key, upload).has_value());
  EXPECT_TRUE(bucket.list_uploads(key, {}).value().uploads.empty());
}

TEST(S3Bucket, SeveralThreadsShareOneService) {
  S3Client client;
  auto& bucket = client.bucket();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&bucket, i] {
      const auto key = fresh_key("shared");
      const auto bytes = some_bytes(100'000 + static_cast<std::size_t>(i));
      EXPECT_TRUE(bucket.put(key, payload_of(bytes)).has_value());
      EXPECT_TRUE(content_of(bucket, key) == bytes);
    });
  }
}

// Forwards requests in absolute form as a proxy does, so that a test can use a host name that no name server knows.
void act_as_proxy(client::TestConnection& peer) {
  const auto real = client::parse_url(s3_server().endpoint).value();
  auto request = peer.read_request();
  if (request.empty()) return;
  const auto at = request.find("http://");
  request.erase(at, request.find('/', at + 7) - at);
  request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(real.port);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  char piece[65536];
  for (ssize_t bytes = 0; (bytes = recv(fd, piece, sizeof piece, 0)) > 0;)
    peer.send({piece, static_cast<std::size_t>(bytes)});
  ::close(fd);
}

TEST(S3Bucket, ABucketMayBeNamedInTheHost) {
  client::TestServer proxy(std::vector<client::TestServer::Script>(16, act_as_proxy));
  S3Client client("http://" + std::string(kStorageDomain));
  client.options.addressing = s3::Addressing::virtual_host;
  client.options.http.environment = [&](const char* name) -> std::optional<std::string> {
    return name == std::string_view("http_proxy") ? std::optional(proxy.url()) : std::nullopt;
  };
  const auto key = fresh_key();
  const auto put = client.bucket().put(key, payload_of("by host"));
  ASSERT_TRUE(put.has_value()) << failure_of(put);
  S3Client by_path;
  EXPECT_EQ(content_of(by_path.bucket(), key), "by host");
  EXPECT_TRUE(client.bucket().check().has_value());
}

}  // namespace
}  // namespace restante::testing
