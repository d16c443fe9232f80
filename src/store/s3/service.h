// Service: signed requests about one bucket, over a few kept-alive connections. once() is one attempt; send() repeats
// what is worth repeating, after a pause that doubles and is jittered. A failure carries S3's code and a sentence for
// the operator (explain.h). Thread-safe and blocking; cancel() ends every call, now and later. Throws nothing.
#pragma once
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/http_client.h"
#include "store/s3/credentials.h"
#include "store/s3/signature.h"

namespace restante::s3 {

// Whether the bucket is named in the path or in the host.
enum class Addressing { path, virtual_host };

// What one attempt came to, for whoever counts and tells.
struct Attempt {
  std::string_view operation;
  const client::Failure* failure = nullptr;  // null: it succeeded
  std::uint64_t sent = 0;                    // of the bytes of objects
  std::uint64_t received = 0;
};

struct ServiceOptions {
  client::Url endpoint;
  std::string bucket;
  std::string region = "us-east-1";
  Addressing addressing = Addressing::path;
  client::HttpOptions http = {};
  std::chrono::milliseconds patience{30'000};  // longest silence of an answer or a connection
  int attempts = 5;
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
  // By any thread; neither may block.
  std::function<void(const Attempt&)> attempted = {};
  std::function<void()> repeated = {};
};

// Bytes to send, which can be read from any place again: a request may be sent twice.
struct Payload {
  std::uint64_t size = 0;
  Digest digest{};
  // Fills as much as it likes, at least a byte; nothing means that the bytes cannot be read any more.
  std::function<std::optional<std::size_t>(std::uint64_t at, std::span<char> into)> read;
};
// Of bytes that stay where they are.
Payload payload_of(std::string_view bytes);

struct S3Request {
  std::string method = "GET";
  std::string key = {};  // empty: the bucket itself
  Query query = {};
  std::vector<client::Header> headers = {};
  std::optional<Payload> payload = std::nullopt;
  // Whether a 2xx is the answer that was asked for; if not, it is a failure worth repeating.
  std::function<bool(const client::Response&)> is_expected = {};
  std::string_view operation = "other";  // one word of a closed list
  // Less than the service's own, for whoever is waited for.
  std::optional<int> attempts = std::nullopt;
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
};

class Service {
 public:
  // Both outlive it.
  Service(ServiceOptions options, CredentialSource& credentials, const Clock& clock);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  client::Outcome<client::Response> once(const S3Request& call, const client::HttpClient::Sink& sink = {});
  client::Outcome<client::Response> send(const S3Request& call);
  void cancel();
  // Something that no single answer tells.
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
  client::Url server_;  // with the bucket's name in the host, if that is where it goes
  CredentialSource& credentials_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable cancelled_;
  bool is_cancelled_ = false;
  std::vector<std::unique_ptr<client::HttpClient>> idle_;
  std::list<client::HttpClient*> busy_;
};

// Retries: how often and after which pauses one call is attempted. Belongs to one thread.
class Retries {
 public:
  explicit Retries(Service& service, std::optional<int> attempts = std::nullopt);

  // Whether to try again after this failure; waits first. False when it is not worth it, was tried often enough, or
  // the service is cancelled.
  bool again(const client::Failure& failure);
  // Something was achieved: counts from the beginning.
  void reset();

 private:
  bool repeat_after(std::chrono::milliseconds wait);

  Service& service_;
  const int most_;
  const std::uint64_t keys_;  // the generation of those that the first attempt is signed with, or an older one
  int tried_ = 0;
  bool renewed_ = false;
  std::chrono::milliseconds next_;
};

}  // namespace restante::s3
