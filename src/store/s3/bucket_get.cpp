#include <fmt/format.h>

#include "base/text.h"
#include "store/s3/bucket.h"
#include "store/s3/explain.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::Outcome;
using client::Response;

// One read of a range; it may need several requests.
class Reading {
 public:
  Reading(std::uint64_t offset, std::uint64_t length, const Bucket::Sink& sink, std::string etag)
      : offset_(offset), length_(length), sink_(sink), etag_(std::move(etag)) {}

  std::uint64_t done() const { return done_; }
  bool is_complete() const { return done_ == length_; }
  bool is_stopped() const { return stopped_; }

  S3Request next_call(const std::string& key) {
    S3Request call;
    call.operation = "get";
    call.key = key;
    call.headers = {{"Range", fmt::format("bytes={}-{}", first(), last())}};
    // A read that continues must continue in the same object.
    if (!etag_.empty()) call.headers.push_back({"If-Match", etag_});
    begin_ = done_;
    return call;
  }

  // False when the answer is not the requested range, or the sink wants no more.
  bool take(const Response& head, std::string_view bytes) {
    if (done_ == begin_ && !begins_right(head)) return false;
    if (bytes.size() > length_ - done_) return false;
    if (const auto* etag = head.find("ETag")) etag_ = *etag;
    done_ += bytes.size();
    stopped_ = !sink_(bytes);
    return !stopped_;
  }

 private:
  std::uint64_t first() const { return offset_ + done_; }
  std::uint64_t last() const { return offset_ + length_ - 1; }

  bool begins_right(const Response& head) const {
    if (head.status == 206) {
      const auto* range = head.find("Content-Range");
      return range && range->starts_with(fmt::format("bytes {}-{}/", first(), last()));
    }
    // When the range is the whole object, a server may ignore it and answer 200.
    const auto* length = head.find("Content-Length");
    return head.status == 200 && first() == 0 && length && parse_unsigned(*length) == length_;
  }

  const std::uint64_t offset_;
  const std::uint64_t length_;
  const Bucket::Sink& sink_;
  std::string etag_;
  std::uint64_t done_ = 0;
  std::uint64_t begin_ = 0;  // value of done_ at the beginning of the current answer
  bool stopped_ = false;
};

}  // namespace

Outcome<void> Bucket::get(const std::string& key, std::uint64_t offset, std::uint64_t length, const Sink& sink,
                          const std::string& etag) {
  Reading reading(offset, length, sink, etag);
  Retries retries(service_);
  while (!reading.is_complete()) {
    const auto before = reading.done();
    const auto outcome = service_.once(reading.next_call(key), [&](const Response& head, std::string_view bytes) {
      return reading.take(head, bytes);
    });
    if (reading.is_complete() && outcome.has_value()) break;
    auto failure =
        outcome.has_error() ? outcome.error() : Failure(Failure::Kind::cut, "S3 ended object " + key + " too early");
    if (failure.kind == Failure::Kind::stopped && !reading.is_stopped() && outcome.has_error()) {
      failure = Failure(Failure::Kind::protocol, "S3 answered with other bytes of object " + key + " than asked for");
    }
    if (reading.done() > before) retries.reset();
    if (!retries.again(failure)) return failure;
  }
  return {};
}

}  // namespace restante::s3
