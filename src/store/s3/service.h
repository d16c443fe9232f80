// Service: sends signed requests for one bucket over a few kept-alive connections. once() is one attempt; send()
// repeats failures that may be temporary, after a pause that doubles and is jittered. A failure has S3's code and a
// sentence for the operator (explain.h). Thread-safe and blocking; cancel() ends every call, running or later. Throws
// nothing.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "client/http_client.h"
#include "store/s3/credentials.h"
#include "store/s3/signature.h"

namespace restante::s3 {

// Whether the bucket is named in the path or in the host.
enum class Addressing { path, virtual_host };

// The result of one attempt, for RequestReporter.
struct Attempt {
  std::string_view operation;
  const client::Failure* failure = nullptr;  // null: it succeeded
  std::uint64_t sent = 0;                    // bytes of objects
  std::uint64_t received = 0;
};

struct ServiceOptions {
  client::Url endpoint;
  std::string bucket;
  std::string region = "us-east-1";
  Addressing addressing = Addressing::path;
  client::HttpOptions http = {};
  std::chrono::milliseconds patience{30'000};  // longest time without a byte from the server
  int attempts = 5;
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
  // Called by any thread; neither may block.
  std::function<void(const Attempt&)> attempted = {};
  std::function<void()> repeated = {};
};

// Bytes to send. They can be read again from any offset, since a request may be sent twice.
struct Payload {
  std::uint64_t size = 0;
  Digest digest{};
  // Reads at least one byte and returns how many; none means that the bytes cannot be read any more.
  std::function<std::optional<std::size_t>(std::uint64_t at, std::span<char> into)> read;
};
// Does not copy: the bytes must outlive the payload.
Payload payload_of(std::string_view bytes);

struct S3Request {
  std::string method = "GET";
  std::string key = {};  // empty: the bucket itself
  Query query = {};
  std::vector<client::Header> headers = {};
  std::optional<Payload> payload = std::nullopt;
  // Whether a 2xx is the expected kind of answer; if not, it is a failure that is repeated.
  std::function<bool(const client::Response&)> is_expected = {};
  std::string_view operation = "other";  // a metric label: one word of a fixed list
  // Smaller limits than the service's, for calls that a client waits for.
  std::optional<int> attempts = std::nullopt;
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
};

class Service {
 public:
  // Credentials and clock must outlive the service.
  Service(ServiceOptions options, CredentialSource& credentials, const Clock& clock);
  ~Service();

  client::Outcome<client::Response> once(const S3Request& call, const client::HttpClient::Sink& sink = {});
  client::Outcome<client::Response> send(const S3Request& call);
  void cancel();
  // Reports a result that comes from several answers.
  void report(const Attempt& attempt) const;

  const ServiceOptions& options() const { return options_; }

 private:
  friend class Retries;
  class LeasedClient;

  client::Outcome<client::Response> attempt(const S3Request& call, const client::HttpClient::Sink& sink);
  client::Request request_for(const S3Request& call, const Credentials& who) const;
  client::Failure failure_for(const S3Request& call, const client::Response& response) const;
  bool pause(std::chrono::milliseconds duration);

  ServiceOptions options_;
  client::Url server_;  // with the bucket's name in the host for Addressing::virtual_host
  CredentialSource& credentials_;
  const Clock& clock_;
  Mutex mutex_;
  ConditionVariable cancelled_;
  bool is_cancelled_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<client::HttpClient>> idle_ RESTANTE_GUARDED_BY(mutex_);
  std::list<client::HttpClient*> busy_ RESTANTE_GUARDED_BY(mutex_);
};

// Retries: counts the attempts of one call and waits between them. Belongs to one thread.
class Retries {
 public:
  explicit Retries(Service& service, std::optional<int> attempts = std::nullopt);

  // Whether to try again after this failure; waits first. False when the failure is not temporary, all attempts are
  // used, or the service is cancelled.
  bool again(const client::Failure& failure);
  // Called after progress: counts from the beginning.
  void reset();

 private:
  bool repeat_after(std::chrono::milliseconds wait);

  Service& service_;
  const int most_;
  const std::uint64_t keys_;  // the generation of the keys of the first attempt, or an older one
  int tried_ = 0;
  bool renewed_ = false;
  std::chrono::milliseconds next_;
};

}  // namespace restante::s3
