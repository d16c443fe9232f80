#include "s3_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "base/uuid.h"

namespace restante::testing {
namespace {

// The server ends when this process closes its standard input or dies.
std::string start_private_server() {
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  if (fork() == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    execl("/usr/bin/python3", "python3", RESTANTE_SOURCE_DIR "/tests/support/swift.py", nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  FILE* answer = fdopen(output[0], "r");
  char line[512];
  if (!std::fgets(line, sizeof line, answer)) throw std::runtime_error("the S3 server did not start");
  std::fclose(answer);
  return line;
}

void make_bucket(const S3Server& server) {
  S3Client client(server.endpoint);
  client.options.attempts = 60;  // Swift answers before its services have found each other
  client.credentials.access_key = server.access_key;
  client.credentials.secret_key = server.secret_key;
  s3::S3Request call;
  call.method = "PUT";
  const auto made = client.service().send(call);
  if (made.has_error()) throw std::runtime_error(made.error().sentence);
}

}  // namespace

const S3Server& s3_server() {
  static const S3Server server = [] {
    S3Server started;
    std::istringstream(start_private_server()) >> started.endpoint >> started.access_key >> started.secret_key >>
        started.region;
    make_bucket(started);
    return started;
  }();
  return server;
}

S3Client::S3Client(const std::string& endpoint) {
  options.endpoint = client::parse_url(endpoint).value();
  options.bucket = kBucket;
  options.first_pause = std::chrono::milliseconds(5);
  options.longest_pause = std::chrono::milliseconds(500);
  options.patience = std::chrono::minutes(2);
}

s3::Service& S3Client::service() {
  if (!service_) {
    if (credentials.access_key.empty()) {
      credentials.access_key = s3_server().access_key;
      credentials.secret_key = s3_server().secret_key;
      options.region = options.region == "us-east-1" ? s3_server().region : options.region;
    }
    source_.emplace(credentials, [](const char*) { return std::nullopt; });
    service_.emplace(options, *source_, clock);
  }
  return *service_;
}

s3::Bucket& S3Client::bucket() {
  if (!bucket_) bucket_.emplace(service());
  return *bucket_;
}

std::string fresh_key(const std::string& prefix) { return prefix + "/" + Uuid::make(SystemClock().now()).hex(); }

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::string content_of(s3::Bucket& bucket, const std::string& key) {
  std::string content;
  const auto stored = bucket.head(key);
  EXPECT_TRUE(stored.has_value() && *stored) << key;
  if (stored.has_error() || !*stored) return content;
  const auto read = bucket.get(key, 0, (*stored)->size, [&](std::string_view bytes) { return content += bytes, true; });
  EXPECT_TRUE(read.has_value()) << read.error().sentence;
  return content;
}

}  // namespace restante::testing
