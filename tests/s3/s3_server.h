// S3Server: the real S3 server of this test process, a private OpenStack Swift that is started at first use and ends
// with the process. It has one bucket; tests use different keys, so that they do not disturb each other.
#pragma once
#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/test_clock.h"
#include "store/s3/bucket.h"

namespace restante::testing {

struct S3Server {
  std::string endpoint;
  std::string access_key;
  std::string secret_key;
  std::string region;
};

constexpr const char* kBucket = "restante-test";
// The server also accepts its buckets as host names under this domain.
constexpr const char* kStorageDomain = "s3.test";

const S3Server& s3_server();

// A client of the server. Change the options before the first use of service() or bucket().
class S3Client {
 public:
  explicit S3Client(const std::string& endpoint = s3_server().endpoint);

  s3::Service& service();
  s3::Bucket& bucket();

  s3::ServiceOptions options;
  s3::CredentialSettings credentials;
  ManualClock clock{SystemClock().now()};

 private:
  std::optional<s3::CredentialSource> source_;
  std::optional<s3::Service> service_;
  std::optional<s3::Bucket> bucket_;
};

// A different key on every call.
std::string fresh_key(const std::string& prefix = "k");
// Bytes without repetition, so that mixed up pieces are noticed.
std::string some_bytes(std::size_t size);
// The whole object; adds a test failure when it cannot be read.
std::string content_of(s3::Bucket& bucket, const std::string& key);

}  // namespace restante::testing
