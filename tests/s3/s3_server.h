// S3Server: the real S3 server of this test process, a private OpenStack Swift that is started at first use and ends
// with the process. It has one bucket; tests keep out of each other's way by the keys they use.
#pragma once
#include <atomic>
#include <string>

#include "base/clock.h"
#include "store/s3/bucket.h"

namespace restante::testing {

struct S3Server {
  std::string endpoint;
  std::string access_key;
  std::string secret_key;
  std::string region;
};

constexpr const char* kBucket = "restante-test";
// Under which the server also knows its buckets by name of host.
constexpr const char* kStorageDomain = "s3.test";

const S3Server& s3_server();

// Everything that one client of it needs; change the options before the first use of bucket().
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

// Never the same twice.
std::string fresh_key(const std::string& prefix = "k");
// Bytes of which no two pieces are alike.
std::string some_bytes(std::size_t size);
// All of an object, or a test failure.
std::string content_of(s3::Bucket& bucket, const std::string& key);

}  // namespace restante::testing
