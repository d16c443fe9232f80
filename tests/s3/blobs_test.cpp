// Blobs as objects: runs the suite for all places, and tests that only S3 needs.
#include "store/s3/blobs.h"

#include <gmock/gmock.h>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/test_clock.h"
#include "blobs_suite.h"
#include "fault_proxy.h"
#include "store/blob_key.h"

namespace restante::testing {
namespace {

using client::TestConnection;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Blobs under a separate prefix; change the options before the first open().
class S3Place final : public BlobsPlace {
 public:
  explicit S3Place(const std::string& endpoint = s3_server().endpoint) {
    options.service.endpoint = client::parse_url(endpoint).value();
    options.service.bucket = kBucket;
    options.service.region = s3_server().region;
    options.service.first_pause = std::chrono::milliseconds(1);
    options.service.longest_pause = std::chrono::milliseconds(200);
    options.service.patience = std::chrono::minutes(2);
    options.credentials.access_key = s3_server().access_key;
    options.credentials.secret_key = s3_server().secret_key;
    options.prefix = fresh_key("blobs") + "/";
    options.environment = [](const char*) { return std::nullopt; };
  }
  std::unique_ptr<Blobs> open() override { return open_s3(); }
  std::unique_ptr<s3::Blobs> open_s3() { return open_s3(clock_); }
  std::unique_ptr<s3::Blobs> open_s3(const Clock& clock) {
    return std::make_unique<s3::Blobs>(options, clock, log_, metrics);
  }

  s3::Options options;
  Metrics metrics{{"test", "test", "test"}};

 private:
  const SystemClock clock_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> dev_null_{std::fopen("/dev/null", "w"), std::fclose};
  Log log_{fileno(dev_null_.get()), LogLevel::error, clock_};
};

RESTANTE_PLACES(S3, std::vector<BlobsKind>{{"PathStyle", [] { return std::make_unique<S3Place>(); }}});

FaultProxy::Fault answer(std::string request, std::string status, std::string code) {
  return {std::move(request), [=](TestConnection& peer, const std::string&, FaultProxy&) {
            peer.answer(status, "<Error><Code>" + code + "</Code></Error>", "");
            return true;
          }};
}

std::string reason_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Unavailable& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(S3Blobs, AMissingBucketIsNotAMissingBlob) {
  S3Place place;
  const auto key = put(*place.open(), "kept");
  place.options.service.bucket = "no-such-bucket";
  const auto wrong = place.open();
  EXPECT_THAT(reason_of([&] { wrong->open(key); }), HasSubstr("there is no bucket no-such-bucket"));
  EXPECT_THAT(reason_of([&] { wrong->check(); }), HasSubstr("there is no bucket no-such-bucket"));
  EXPECT_THAT(reason_of([&] { wrong->list("", Time::max()); }), HasSubstr("there is no bucket no-such-bucket"));
}

TEST(S3Blobs, AWrongSecretIsRefusedAndIsInNoSentence) {
  S3Place place;
  place.options.credentials.secret_key = "hunter2horse";
  const auto blobs = place.open_s3();
  EXPECT_THAT(reason_of([&] { put(*blobs, "x"); }), HasSubstr("the secret key is not the right one"));
  EXPECT_THAT(blobs->trouble(), HasSubstr("the secret key is not the right one"));
  EXPECT_THAT(blobs->trouble(), Not(HasSubstr("hunter2")));
}

TEST(S3Blobs, AnObjectThatIsReplacedOrDeletedDuringAReadIsUnavailable) {
  S3Place place;
  S3Client other;
  const auto blobs = place.open();
  const auto key = put(*blobs, some_bytes(3'000'000, 5));
  const auto blob = blobs->open(key);
  std::vector<char> piece(1000);
  EXPECT_EQ(blob->read(0, piece), 1000u);
  const std::string object = place.options.prefix + key;
  ASSERT_TRUE(other.bucket().put(object, s3::payload_of("another")).has_value());
  EXPECT_THAT(reason_of([&] { blob->read(2'000'000, piece); }), HasSubstr("was replaced while it was read"));
  blobs->drop(key);
  blob->forget();
  EXPECT_THAT(reason_of([&] { blob->read(0, piece); }), HasSubstr("vanished while it was read"));
}

TEST(S3Blobs, ForeignObjectsUnderThePrefixAreNeitherListedNorChanged) {
  S3Place place;
  S3Client other;
  const auto blobs = place.open();
  const std::string foreign = place.options.prefix + "notes.txt";
  ASSERT_TRUE(other.bucket().put(foreign, s3::payload_of("mine")).has_value());
  const auto upload = other.bucket().begin(foreign).value();
  const auto key = put(*blobs, "ours");
  EXPECT_EQ(keys_of(*blobs), std::set<std::string>{key});
  EXPECT_EQ(blobs->drop_unfinished(Time::max()), 0u);
  EXPECT_EQ(other.bucket().list_uploads(foreign, {}).value().uploads.size(), 1u);
  EXPECT_TRUE(other.bucket().abort(foreign, upload).has_value());
}

TEST(S3Blobs, KeysThatAreRotatedInTheirFileAreUsed) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto file = std::filesystem::temp_directory_path() / fresh_key("keys").substr(5);
  const auto write = [&](const std::string& secret) {
    std::ofstream(file) << "[default]\naws_access_key_id = " << s3_server().access_key
                        << "\naws_secret_access_key = " << secret << "\n";
  };
  place.options.credentials = {};
  place.options.credentials.file = file;
  write("of-yesterday");
  const auto blobs = place.open();
  EXPECT_THAT(reason_of([&] { put(*blobs, "x"); }), HasSubstr("the secret key is not the right one"));
  write(s3_server().secret_key);
  const auto key = put(*blobs, "taken up");
  EXPECT_EQ(content(*blobs->open(key)), "taken up");

  write("of-yesterday");
  const auto reader = place.open();
  EXPECT_THAT(reason_of([&] { reader->open(key); }), HasSubstr("the access key may not HEAD"));
  write(s3_server().secret_key);
  EXPECT_EQ(content(*reader->open(key)), "taken up") << "the answer to HEAD has no error code";
  std::filesystem::remove(file);
}

TEST(S3Blobs, RequestsAreSignedWithThisMachinesClockAndNotWithTheClockOfKeys) {
  S3Place place;
  ManualClock wrong{parse_time("2020-01-01T00:00:00Z").value()};
  const auto blobs = place.open_s3(wrong);
  const auto key = put(*blobs, "kept");
  EXPECT_EQ(time_of_blob_key(key), wrong.now());
  EXPECT_EQ(content(*blobs->open(key)), "kept");
}

TEST(S3Blobs, AServerWithoutBatchesGetsSingleDeletionsAndThatIsNoTrouble) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  const auto drop_three = [&] {
    std::vector<std::string> keys;
    for (int i = 0; i < 3; ++i) keys.push_back(put(*blobs, "x"));
    blobs->drop_all(keys);
  };
  proxy.add(answer("POST ", "501 Not Implemented", "NotImplemented"));
  proxy.add(answer("DELETE ", "403 Forbidden", "AccessDenied"));
  EXPECT_THAT(reason_of(drop_three), HasSubstr("may not DELETE"));
  EXPECT_THAT(keys_of(*blobs), ::testing::SizeIs(3));
  proxy.add(answer("POST ", "501 Not Implemented", "NotImplemented"));
  const auto left = keys_of(*blobs);
  blobs->drop_all(std::vector(left.begin(), left.end()));
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
  EXPECT_THAT(blobs->trouble(), IsEmpty());
  drop_three();
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
  EXPECT_EQ(proxy.count("POST "), 2) << "after a refused batch and successful single deletions no batch is tried again";
  EXPECT_EQ(proxy.count("DELETE "), 1 + 3 + 3);
  EXPECT_TRUE(proxy.faults_are_used_up());
}

TEST(S3Blobs, AnotherWebServerIsNotMistakenForABucket) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open();
  const auto page = [&](const std::string& request) {
    proxy.add({request, [](TestConnection& peer, const std::string&, FaultProxy&) {
                 peer.answer("404 Not Found", "<html><h1>Not Found</h1></html>", "");
                 return true;
               }});
  };
  const auto key = put(*blobs, "kept");
  page("GET ");
  EXPECT_THAT(reason_of([&] { blobs->check(); }), HasSubstr("does not answer as S3 does"));
  page("DELETE ");
  EXPECT_THAT(reason_of([&] { blobs->drop(key); }), HasSubstr("does not answer as S3 does"));
  EXPECT_EQ(content(*blobs->open(key)), "kept");
}

TEST(S3Blobs, TroubleIsReportedUntilTheSameOperationSucceedsAndEverythingIsCounted) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  proxy.add(answer("PUT ", "403 Forbidden", "AccessDenied"));
  EXPECT_THAT(reason_of([&] { put(*blobs, "x"); }), HasSubstr("may not PUT"));
  EXPECT_THAT(blobs->trouble(), HasSubstr("may not PUT"));
  blobs->check();
  EXPECT_THAT(blobs->trouble(), HasSubstr("may not PUT")) << "a successful list does not mean that put works";
  proxy.add(answer("PUT ", "503 Slow Down", "SlowDown"));
  const auto key = put(*blobs, "hello");
  EXPECT_EQ(content(*blobs->open(key)), "hello");
  EXPECT_THAT(blobs->trouble(), IsEmpty());
  EXPECT_EQ(place.metrics.s3_requests("put", "refused").Value(), 1);
  EXPECT_EQ(place.metrics.s3_requests("put", "unavailable").Value(), 1);
  EXPECT_EQ(place.metrics.s3_requests("put", "ok").Value(), 1);
  EXPECT_EQ(place.metrics.s3_requests("get", "ok").Value(), 1);
  EXPECT_GE(place.metrics.s3_retries.Value(), 1);
  EXPECT_EQ(place.metrics.s3_bytes("sent").Value(), 5);
  EXPECT_EQ(place.metrics.s3_bytes("received").Value(), 5);
}

TEST(S3Blobs, CancelEndsTheRunningCallAndAllLaterOnes) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  proxy.add({"GET ", [&](TestConnection&, const std::string&, FaultProxy&) {
               blobs->cancel();
               return false;
             }});
  EXPECT_THROW(blobs->check(), Unavailable);
  EXPECT_THROW(put(*blobs, "x"), Unavailable);
  EXPECT_THROW(blobs->open(new_blob_key(SystemClock().now())), Unavailable);
}

TEST(S3Blobs, AMarkIsKeptBesideTheBlobsAndTheFirstOneStays) {
  S3Place place;
  const auto blobs = place.open_s3();
  EXPECT_EQ(blobs->mark(), std::nullopt);
  blobs->put_mark("first", Blobs::MarkMode::if_there_is_none);
  EXPECT_EQ(blobs->mark(), "first");
  EXPECT_THAT(keys_of(*blobs), IsEmpty()) << "it is no blob";
  blobs->put_mark("second", Blobs::MarkMode::anyway);
  EXPECT_EQ(place.open_s3()->mark(), "second");
}

TEST(S3Blobs, AMarkThatAnotherServerPutMeanwhileIsNoFailure) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  proxy.add(answer("PUT ", "412 Precondition Failed", "PreconditionFailed"));
  EXPECT_NO_THROW(blobs->put_mark("second", Blobs::MarkMode::if_there_is_none));
  EXPECT_EQ(blobs->trouble(), "");
}

TEST(S3Blobs, AServerWithoutIfNoneMatchGetsTheMarkWithoutIt) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  proxy.add(answer("PUT ", "501 Not Implemented", "NotImplemented"));
  blobs->put_mark("ours", Blobs::MarkMode::if_there_is_none);
  EXPECT_EQ(blobs->mark(), "ours");
}

TEST(S3Blobs, AMarkThatCannotBeReadIsNotAMissingMark) {
  FaultProxy proxy;
  S3Place place(proxy.url());
  const auto blobs = place.open_s3();
  proxy.add(answer("GET ", "403 Forbidden", "AccessDenied"));
  EXPECT_THROW(blobs->mark(), Unavailable);
}

}  // namespace
}  // namespace restante::testing
