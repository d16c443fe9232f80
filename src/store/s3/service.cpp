#include "store/s3/service.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "base/crypto.h"
#include "base/text.h"
#include "store/s3/explain.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::HttpClient;
using client::Outcome;
using client::Request;
using client::Response;

constexpr std::size_t kIdleConnections = 16;
constexpr std::size_t kAnswerBytes = 8 << 20;  // a page of a thousand of the longest keys, encoded

client::Url server_of(const ServiceOptions& options) {
  auto server = options.endpoint;
  server.path = encode_path(percent_decode(server.path).value_or(server.path));
  if (options.addressing == Addressing::virtual_host) server.host = options.bucket + "." + server.host;
  return server;
}

// The part of the path after the endpoint's own path.
std::string target_path(const ServiceOptions& options, const std::string& key) {
  std::string path = options.addressing == Addressing::path ? "/" + options.bucket : "";
  if (!key.empty() || path.empty()) path += "/" + key;
  return encode_path(path);
}

std::chrono::milliseconds jittered(std::chrono::milliseconds whole) {
  std::array<std::uint8_t, 4> bytes{};
  random_bytes(bytes);
  const auto half = whole.count() / 2;
  return std::chrono::milliseconds(half + std::bit_cast<std::uint32_t>(bytes) % (whole.count() - half + 1));
}

}  // namespace

// A connection of the service; the destructor gives it back.
class Service::LeasedClient {
 public:
  explicit LeasedClient(Service& service) : service_(service) {
    const MutexLock lock(service.mutex_);
    if (!service.idle_.empty()) {
      client_ = std::move(service.idle_.back());
      service.idle_.pop_back();
    } else {
      client_ = std::make_unique<HttpClient>(service.server_, service.options_.http);
    }
    if (service.is_cancelled_) client_->cancel();
    position_ = service.busy_.insert(service.busy_.end(), client_.get());
  }
  ~LeasedClient() {
    const MutexLock lock(service_.mutex_);
    service_.busy_.erase(position_);
    if (service_.idle_.size() < kIdleConnections) service_.idle_.push_back(std::move(client_));
  }
  HttpClient& operator*() { return *client_; }

 private:
  Service& service_;
  std::unique_ptr<HttpClient> client_;
  std::list<HttpClient*>::iterator position_;
};

Payload payload_of(std::string_view bytes) {
  Payload payload;
  payload.size = bytes.size();
  payload.digest = sha256(bytes);
  payload.read = [bytes](std::uint64_t at, std::span<char> into) -> std::optional<std::size_t> {
    const auto size = std::min<std::size_t>(into.size(), bytes.size() - at);
    std::memcpy(into.data(), bytes.data() + at, size);
    return size;
  };
  return payload;
}

Service::Service(ServiceOptions options, CredentialSource& credentials, const Clock& clock)
    : options_(std::move(options)), server_(server_of(options_)), credentials_(credentials), clock_(clock) {}
Service::~Service() = default;

Request Service::request_for(const S3Request& call, const Credentials& who) const {
  const auto now = clock_.now();
  const auto digest = to_hex(call.payload ? call.payload->digest : sha256(""));
  Request request;
  request.method = call.method;
  request.target = target_path(options_, call.key);
  Signable signable{call.method, server_.path + request.target, call.query, call.headers, digest};
  signable.headers.push_back({"x-amz-content-sha256", digest});
  signable.headers.push_back({"x-amz-date", signing_time(now)});
  if (!who.session_token.empty()) signable.headers.push_back({"x-amz-security-token", who.session_token});
  request.headers = signable.headers;
  signable.headers.push_back({"host", server_.authority()});
  request.headers.push_back({"Authorization", authorization(signable, who, {options_.region}, now)});
  if (!call.query.empty()) request.target += "?" + encode_query(call.query);
  request.patience = call.patience.value_or(options_.patience);
  request.max_body = kAnswerBytes;
  if (call.payload && call.payload->size > 0) {
    request.source_length = call.payload->size;
    request.source = [&payload = *call.payload, at = std::uint64_t{0}](std::span<char> into) mutable {
      const auto bytes = payload.read(at, into);
      if (bytes) at += *bytes;
      return bytes;
    };
  }
  return request;
}

Failure Service::failure_for(const S3Request& call, const Response& response) const {
  const auto error = read_error(response.body).value_or(ErrorAnswer{});
  return explain(response, error,
                 {call.method, options_.bucket, options_.endpoint.text(), options_.region, clock_.now()});
}

void Service::report(const Attempt& attempt) const {
  if (options_.attempted) options_.attempted(attempt);
}

Outcome<Response> Service::once(const S3Request& call, const HttpClient::Sink& sink) {
  Attempt attempt_report{call.operation};
  HttpClient::Sink counting;
  if (sink) {
    counting = [&](const Response& head, std::string_view bytes) {
      attempt_report.received += bytes.size();
      return sink(head, bytes);
    };
  }
  auto outcome = attempt(call, counting);
  const auto failure = outcome.has_error() ? outcome.error() : Failure();
  if (outcome.has_error()) attempt_report.failure = &failure;
  if (!attempt_report.failure && call.method == "PUT" && call.payload) attempt_report.sent = call.payload->size;
  report(attempt_report);
  return outcome;
}

Outcome<Response> Service::attempt(const S3Request& call, const HttpClient::Sink& sink) {
  const auto who = credentials_.current();
  if (who.has_error()) return who.error();
  LeasedClient client(*this);
  const auto request = request_for(call, *who);
  auto outcome = sink ? (*client).download(request, sink) : (*client).send(request);
  if (outcome.has_error()) return explain_certificate(outcome.error(), options_.endpoint.text(), options_.http.ca_file);
  if (!outcome->succeeded() || read_error(outcome->body)) return failure_for(call, *outcome);
  if (call.is_expected && !call.is_expected(*outcome)) {
    return Failure(Failure::Kind::protocol, options_.endpoint.text() + " does not answer as S3 does");
  }
  return outcome;
}

Outcome<Response> Service::send(const S3Request& call) {
  Retries retries(*this, call.attempts);
  for (;;) {
    auto outcome = once(call);
    if (outcome.has_value() || !retries.again(outcome.error())) return outcome;
  }
}

void Service::cancel() {
  const MutexLock lock(mutex_);
  is_cancelled_ = true;
  for (auto* client : busy_) client->cancel();
  cancelled_.notify_all();
}

// False when cancel() ended the pause.
bool Service::pause(std::chrono::milliseconds duration) {
  const auto until = std::chrono::steady_clock::now() + duration;
  MutexLock lock(mutex_);
  while (!is_cancelled_ && cancelled_.wait_until(lock, until) == std::cv_status::no_timeout) continue;
  return !is_cancelled_;
}

Retries::Retries(Service& service, std::optional<int> attempts)
    : service_(service),
      most_(attempts.value_or(service.options().attempts)),
      keys_(service.credentials_.generation()),
      next_(service.options().first_pause) {}

bool Retries::again(const Failure& failure) {
  using std::chrono::milliseconds;
  if (may_be_of_keys(failure) && !renewed_ && service_.credentials_.renew(keys_)) {
    renewed_ = true;
    return repeat_after(milliseconds(0));
  }
  if (!is_worth_repeating(failure) || ++tried_ >= most_) return false;
  auto wait = jittered(next_);
  const auto longest = service_.options().longest_pause;
  if (failure.retry_after) wait = std::min(std::max(wait, milliseconds(*failure.retry_after)), longest);
  next_ = std::min(next_ * 2, longest);
  return repeat_after(wait);
}

bool Retries::repeat_after(std::chrono::milliseconds wait) {
  if (!service_.pause(wait)) return false;
  if (service_.options().repeated) service_.options().repeated();
  return true;
}

void Retries::reset() {
  tried_ = 0;
  next_ = service_.options().first_pause;
}

}  // namespace restante::s3
