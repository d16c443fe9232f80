// Failures between the client and an S3 server, produced by a proxy.
#include <gmock/gmock.h>

#include "fault_proxy.h"
#include "store/s3/explain.h"
#include "store/s3/object_writer.h"

namespace restante::testing {
namespace {

using client::TestConnection;
using s3::payload_of;
using ::testing::HasSubstr;

constexpr const char* kSlowDown =
    "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
constexpr const char* kInternal =
    "<Error><Code>InternalError</Code><Message>We encountered an error.</Message></Error>";

FaultProxy::Fault answer(std::string request, std::string status, std::string body, std::string headers = "") {
  return {std::move(request), [=](TestConnection& peer, const std::string&, FaultProxy&) {
            peer.answer(status, body, headers);
            return true;
          }};
}

// The server executes the request, but its answer is lost.
FaultProxy::Fault lose_answer(std::string request) {
  return {std::move(request), [](TestConnection& peer, const std::string& asked, FaultProxy& proxy) {
            proxy.forward(asked);
            peer.reset_on_close();
            return false;
          }};
}

// Only the first bytes of the answer arrive.
FaultProxy::Fault cut_answer(std::string request, std::size_t after) {
  return {std::move(request), [=](TestConnection& peer, const std::string& asked, FaultProxy& proxy) {
            peer.send(proxy.forward(asked).substr(0, after));
            return false;
          }};
}

class S3Faults : public ::testing::Test {
 protected:
  S3Faults() {
    client.options.first_pause = std::chrono::milliseconds(1);
    client.options.longest_pause = std::chrono::milliseconds(20);
  }
  void TearDown() override { EXPECT_TRUE(proxy.faults_are_used_up()) << "a fault never happened"; }

  std::string path() const { return "/" + std::string(kBucket) + "/" + key; }
  s3::Bucket& bucket() { return client.bucket(); }
  std::size_t open_uploads() { return bucket().list_uploads(key, {}).value().uploads.size(); }

  FaultProxy proxy;
  S3Client client{proxy.url()};
  const std::string key = fresh_key("fault");
};

TEST_F(S3Faults, ARequestIsRepeatedAfterSlowDown) {
  proxy.add(answer("PUT " + path(), "503 Slow Down", kSlowDown));
  proxy.add(answer("PUT " + path(), "503 Slow Down", "", "Retry-After: 1\r\n"));
  proxy.add(answer("PUT " + path(), "500 Internal Server Error", kInternal));
  ASSERT_TRUE(bucket().put(key, payload_of("hello")).has_value());
  EXPECT_EQ(content_of(bucket(), key), "hello");
  EXPECT_EQ(proxy.count("PUT " + path()), 4);
}

TEST_F(S3Faults, ARequestToAServerThatStaysBusyFails) {
  for (int i = 0; i < client.options.attempts; ++i) proxy.add(answer("PUT " + path(), "503 Slow Down", kSlowDown));
  const auto put = bucket().put(key, payload_of("hello"));
  ASSERT_TRUE(put.has_error());
  EXPECT_EQ(put.error().code, "SlowDown");
  EXPECT_FALSE(bucket().head(key).value());
}

TEST_F(S3Faults, ARefusalIsNotRepeated) {
  proxy.add(answer("PUT " + path(), "403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"));
  const auto put = bucket().put(key, payload_of("hello"));
  ASSERT_TRUE(put.has_error());
  EXPECT_THAT(put.error().sentence, HasSubstr("may not PUT in bucket"));
  EXPECT_EQ(proxy.count("PUT "), 1);
}

TEST_F(S3Faults, ARedirectToAnotherRegionIsExplainedAndNotFollowed) {
  proxy.add(answer("PUT " + path(), "301 Moved Permanently", "<Error><Code>PermanentRedirect</Code></Error>",
                   "x-amz-bucket-region: eu-central-1\r\nLocation: http://elsewhere.test/\r\n"));
  const auto put = bucket().put(key, payload_of("hello"));
  ASSERT_TRUE(put.has_error());
  EXPECT_THAT(put.error().sentence, HasSubstr("region eu-central-1"));
}

TEST_F(S3Faults, APutThatIsCutInTheMiddleIsSentAgainFromTheBeginning) {
  const auto bytes = some_bytes(3 << 20);
  proxy.cut("PUT " + path(), 1 << 20);
  ASSERT_TRUE(bucket().put(key, payload_of(bytes)).has_value());
  EXPECT_TRUE(content_of(bucket(), key) == bytes);
}

TEST_F(S3Faults, APutWhoseAnswerIsLostSucceeds) {
  proxy.add(lose_answer("PUT " + path()));
  ASSERT_TRUE(bucket().put(key, payload_of("hello")).has_value());
  EXPECT_EQ(content_of(bucket(), key), "hello");
}

TEST_F(S3Faults, AGetThatIsCutInTheMiddleContinuesWhereItStopped) {
  const auto bytes = some_bytes(3 << 20);
  ASSERT_TRUE(bucket().put(key, payload_of(bytes)).has_value());
  proxy.add(cut_answer("GET " + path(), 1 << 20));
  proxy.add(cut_answer("GET " + path(), 100));  // in its head
  proxy.add(cut_answer("GET " + path(), 1 << 20));
  std::string read;
  const auto got =
      bucket().get(key, 1000, bytes.size() - 1000, [&](std::string_view some) { return read += some, true; });
  ASSERT_TRUE(got.has_value()) << got.error().sentence;
  EXPECT_TRUE(read == bytes.substr(1000)) << "each byte once";
  EXPECT_EQ(proxy.count("GET " + path()), 4);
}

TEST_F(S3Faults, ASinkThatWantsNoMoreEndsTheRead) {
  const auto bytes = some_bytes(1 << 20);
  ASSERT_TRUE(bucket().put(key, payload_of(bytes)).has_value());
  std::size_t seen = 0;
  const auto got = bucket().get(key, 0, bytes.size(), [&](std::string_view some) {
    seen += some.size();
    return seen < 100'000;
  });
  ASSERT_TRUE(got.has_error());
  EXPECT_EQ(got.error().kind, client::Failure::Kind::stopped);
  EXPECT_EQ(proxy.count("GET "), 1);
}

TEST_F(S3Faults, AnObjectThatChangesInTheMiddleIsNotMixed) {
  ASSERT_TRUE(bucket().put(key, payload_of(std::string(1 << 20, 'a'))).has_value());
  proxy.add({"GET " + path(), [this](TestConnection& peer, const std::string& asked, FaultProxy& real) {
               peer.send(real.forward(asked).substr(0, 100'000));
               S3Client other;
               EXPECT_TRUE(other.bucket().put(key, payload_of(std::string(1 << 20, 'b'))).has_value());
               return false;
             }});
  std::string read;
  const auto got = bucket().get(key, 0, 1 << 20, [&](std::string_view some) { return read += some, true; });
  ASSERT_TRUE(got.has_error());
  EXPECT_EQ(got.error().status, 412);
  EXPECT_EQ(read.find('b'), std::string::npos);
}

TEST_F(S3Faults, BytesThatWereNotRequestedAreNotAccepted) {
  ASSERT_TRUE(bucket().put(key, payload_of("0123456789")).has_value());
  proxy.add(answer("GET " + path(), "206 Partial Content", "012", "Content-Range: bytes 0-2/10\r\n"));
  proxy.add(answer("GET " + path(), "200 OK", "0123456789"));
  proxy.add(answer("GET " + path(), "206 Partial Content", "3456", "Content-Range: bytes 3-5/10\r\n"));
  std::string read;
  const auto got = bucket().get(key, 3, 3, [&](std::string_view some) { return read += some, true; });
  ASSERT_TRUE(got.has_value()) << got.error().sentence;
  EXPECT_EQ(read, "345");
}

TEST_F(S3Faults, AnObjectThatAppearsLateIsWaitedFor) {
  proxy.add(answer("HEAD " + path(), "404 Not Found", ""));
  proxy.add(answer("HEAD " + path(), "404 Not Found", ""));
  ASSERT_TRUE(bucket().put(key, payload_of("hello")).has_value());
  EXPECT_EQ(proxy.count("PUT " + path()), 1);
  EXPECT_EQ(proxy.count("HEAD " + path()), 3);
}

TEST_F(S3Faults, AnObjectThatIsNotThereAfterAPutWasNotStored) {
  for (int i = 0; i < client.options.attempts; ++i) proxy.add(answer("HEAD " + path(), "404 Not Found", ""));
  const auto put = bucket().put(key, payload_of("hello"));
  ASSERT_TRUE(put.has_error());
  EXPECT_THAT(put.error().sentence, HasSubstr("does not have it"));
}

TEST_F(S3Faults, AnObjectOfAnotherETagOrSizeIsPutAgain) {
  proxy.add({"PUT " + path(), [](TestConnection& peer, const std::string& asked, FaultProxy& real) {
               real.forward(asked);
               peer.answer("200 OK", "", "ETag: \"00000000000000000000000000000000\"\r\n");
               return true;
             }});
  ASSERT_TRUE(bucket().put(key, payload_of("hello")).has_value());
  EXPECT_EQ(proxy.count("PUT " + path()), 2);

  for (int i = 0; i < 3; ++i)
    proxy.add({"HEAD " + path(), [](TestConnection& peer, const std::string&, FaultProxy&) {
                 peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
                 return true;
               }});
  EXPECT_TRUE(bucket().put(key, payload_of("hello")).has_error());
  EXPECT_EQ(proxy.count("PUT " + path()), 5);
}

class S3ObjectWriterFaults : public S3Faults {
 protected:
  s3::ObjectWriter& writer() {
    if (!writer_) writer_.emplace(bucket(), "", key);
    return *writer_;
  }
  // As at the end of a request that failed.
  void destroy_writer() { writer_.reset(); }
  const std::string bytes = some_bytes(2 * s3::kPartBytes + 12'345);

 private:
  std::optional<s3::ObjectWriter> writer_;
};

TEST_F(S3ObjectWriterFaults, SmallContentIsPutWholeAndLargeContentInParts) {
  writer().write("hello");
  EXPECT_EQ(writer().finish(), key);
  EXPECT_EQ(content_of(bucket(), key), "hello");
  EXPECT_EQ(proxy.count("POST "), 0);

  for (const auto size : {s3::kPartBytes, s3::kPartBytes + 1, bytes.size()}) {
    const auto other = fresh_key("large");
    s3::ObjectWriter large(bucket(), "large/", other.substr(6));
    const auto content = bytes.substr(0, size);
    for (std::size_t at = 0; at < content.size(); at += 300'000)
      large.write(std::string_view(content).substr(at, 300'000));
    EXPECT_EQ(large.finish(), other.substr(6));
    EXPECT_TRUE(content_of(bucket(), other) == content);
  }
  EXPECT_EQ(proxy.count("POST "), 4) << "two objects are begun and completed; one fits into a single part";
}

TEST_F(S3ObjectWriterFaults, AnErrorWithStatus200IsNotACompletion) {
  proxy.add(answer("POST " + path() + "?uploadId", "200 OK", kInternal));
  writer().write(bytes);
  writer().finish();
  EXPECT_TRUE(content_of(bucket(), key) == bytes);
  EXPECT_EQ(proxy.count("POST " + path() + "?uploadId"), 2);
}

TEST_F(S3ObjectWriterFaults, ALastingErrorWithStatus200EndsTheUploadAndLeavesNothing) {
  for (int i = 0; i < client.options.attempts; ++i)
    proxy.add(
        answer("POST " + path() + "?uploadId", "200 OK", "<?xml version=\"1.0\"?>\n\n   " + std::string(kInternal)));
  writer().write(bytes);
  EXPECT_THROW(writer().finish(), Unavailable);
  EXPECT_EQ(open_uploads(), 1u);
  destroy_writer();
  EXPECT_EQ(open_uploads(), 0u);
  EXPECT_FALSE(bucket().head(key).value());
}

TEST_F(S3ObjectWriterFaults, ACompletionWhoseAnswerWasLostIsFound) {
  proxy.add(lose_answer("POST " + path() + "?uploadId"));
  writer().write(bytes);
  writer().finish();
  EXPECT_TRUE(content_of(bucket(), key) == bytes);
}

TEST_F(S3ObjectWriterFaults, ACompletionWhoseAnswerIsCutIsSentAgain) {
  proxy.add({"POST " + path() + "?uploadId", [](TestConnection& peer, const std::string&, FaultProxy&) {
               peer.answer("200 OK", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n   ");
               return true;
             }});
  writer().write(bytes);
  writer().finish();
  EXPECT_TRUE(content_of(bucket(), key) == bytes);
  EXPECT_EQ(proxy.count("POST " + path() + "?uploadId"), 2);
}

TEST_F(S3ObjectWriterFaults, APartIsSentAgainAndWhenOneFailsTheUploadIsAborted) {
  proxy.cut("PUT " + path() + "?partNumber=1", 1 << 20);
  proxy.add(answer("PUT " + path() + "?partNumber=2", "403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"));
  EXPECT_THROW(
      {
        writer().write(bytes);
        writer().finish();
      },
      Unavailable);
  EXPECT_EQ(proxy.count("PUT " + path() + "?partNumber=1"), 1) << "counts only requests that arrived whole";
  EXPECT_EQ(open_uploads(), 1u);
  destroy_writer();
  EXPECT_EQ(open_uploads(), 0u);
  EXPECT_FALSE(bucket().head(key).value());
}

TEST_F(S3ObjectWriterFaults, AnUnfinishedWriterLeavesNothing) {
  writer().write(bytes);
  EXPECT_EQ(open_uploads(), 1u);
  destroy_writer();
  EXPECT_EQ(open_uploads(), 0u);
  s3::ObjectWriter small(bucket(), "", key);
  small.write("hello");
  EXPECT_FALSE(bucket().head(key).value());
}

TEST_F(S3ObjectWriterFaults, AnExceededQuotaIsStorageFull) {
  proxy.add(answer("PUT " + path(), "403 Forbidden", "<Error><Code>QuotaExceeded</Code></Error>"));
  writer().write("hello");
  EXPECT_THROW(writer().finish(), StorageFull);
}

}  // namespace
}  // namespace restante::testing
