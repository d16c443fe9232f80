#include "store/s3/bucket.h"

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/text.h"
#include "store/s3/explain.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::Outcome;
using client::Response;

constexpr int kBriefAttempts = 2;
constexpr std::chrono::milliseconds kBriefPatience = std::chrono::seconds(5);
constexpr int kPuts = 3;  // attempts when the stored object is not what was sent

std::string etag_of(const Response& response) {
  const auto* etag = response.find("ETag");
  return etag ? *etag : "";
}

Failure not_kept(const std::string& key) {
  return {Failure::Kind::protocol, "S3 took object " + key + " but does not have it as it was sent"};
}

S3Request document_call(std::string_view operation, std::string key, Query query, const std::string& document) {
  S3Request call;
  call.operation = operation;
  call.method = "POST";
  call.key = std::move(key);
  call.query = std::move(query);
  call.headers = {{"Content-Type", "application/xml"}};
  call.payload = payload_of(document);
  return call;
}

// None when this system has no MD5, which S3 requires for batches.
std::optional<std::string> checksum_of(std::string_view document) {
  try {
    return to_base64(md5(document));
  } catch (const Unavailable&) {
    return std::nullopt;
  }
}

}  // namespace

void Bucket::limit(S3Request& call, Effort effort) const {
  if (effort == Effort::full) return;
  call.attempts = std::min(service_.options().attempts, kBriefAttempts);
  call.patience = std::min(service_.options().patience, kBriefPatience);
}

// Brief: the result of a check must come soon.
Outcome<void> Bucket::check(const std::string& prefix) {
  S3Request call;
  call.operation = "check";
  limit(call, Effort::brief);
  call.query = {{"list-type", "2"}, {"prefix", prefix}, {"max-keys", "1"}};
  call.is_expected = [](const Response& response) { return read_objects(response.body).has_value(); };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) return outcome.error();
  return {};
}

Outcome<void> Bucket::put(const std::string& key, const Payload& payload) {
  S3Request call;
  call.operation = "put";
  call.method = "PUT";
  call.key = key;
  call.payload = payload;
  for (int i = 0; i < kPuts; ++i) {
    const auto sent = service_.send(call);
    if (sent.has_error()) return sent.error();
    const auto kept = confirm(key, {payload.size, etag_of(*sent)});
    if (kept.has_error()) return kept.error();
    if (*kept) return {};
  }
  return report_not_kept(key);
}

Outcome<void> Bucket::put_new(const std::string& key, const Payload& payload) {
  S3Request call;
  call.operation = "put";
  call.method = "PUT";
  call.key = key;
  call.payload = payload;
  call.headers = {{"If-None-Match", "*"}};
  const auto sent = service_.send(call);
  if (sent.has_value()) return {};
  const int status = sent.error().status;
  if (status == 409 || status == 412) {
    service_.report({"put"});  // a success: another server has put the object
    return {};
  }
  return is_unsupported(sent.error()) ? put(key, payload) : Outcome<void>(sent.error());
}

Outcome<std::optional<std::string>> Bucket::read_small(const std::string& key) {
  S3Request call;
  call.operation = "get";
  limit(call, Effort::brief);
  call.key = key;
  const auto outcome = service_.send(call);
  if (outcome.has_value()) return std::optional(outcome->body);
  if (is_missing(outcome.error())) return std::optional<std::string>();
  return outcome.error();
}

Failure Bucket::report_not_kept(const std::string& key) const {
  auto failure = not_kept(key);
  service_.report({"confirm", &failure});
  return failure;
}

// Whether the stored object is what was sent. An object that is not found is looked for again: it may appear late.
Outcome<bool> Bucket::confirm(const std::string& key, const Stored& expected) {
  Retries retries(service_);
  for (;;) {
    const auto found = head(key);
    if (found.has_error()) return found.error();
    if (*found) {
      const auto& stored = **found;
      const bool kept = stored.size == expected.size && (expected.etag.empty() || stored.etag == expected.etag);
      if (kept) service_.report({"confirm"});
      return kept;
    }
    if (!retries.again(not_kept(key))) return report_not_kept(key);
  }
}

Outcome<std::optional<Stored>> Bucket::head(const std::string& key) {
  S3Request call;
  call.operation = "head";
  call.method = "HEAD";
  call.key = key;
  call.is_expected = [](const Response& response) {
    const auto* length = response.find("Content-Length");
    return length && parse_unsigned(*length);
  };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) {
    if (is_missing(outcome.error())) return std::optional<Stored>();
    return outcome.error();
  }
  return std::optional(Stored{*parse_unsigned(*outcome->find("Content-Length")), etag_of(*outcome)});
}

Outcome<void> Bucket::drop(std::span<const std::string> keys, Effort effort) {
  if (keys.size() == 1) return drop_one(keys.front(), effort);
  while (!keys.empty()) {
    const auto batch = keys.first(std::min(keys.size(), kDropBatch));
    if (auto dropped = drop_some(batch); dropped.has_error()) return dropped;
    keys = keys.subspan(batch.size());
  }
  return {};
}

Outcome<void> Bucket::drop_some(std::span<const std::string> keys) {
  if (!takes_batches_) return drop_each(keys);
  const auto checksum = checksum_of(deletion_document(keys));
  if (!checksum) return drop_each(keys);
  auto dropped = drop_batch(keys, *checksum);
  if (dropped.has_value() || !is_unsupported(dropped.error())) return dropped;
  dropped = drop_each(keys);
  if (dropped.has_value()) {
    takes_batches_ = false;
    service_.report({"drop_many"});  // a success: the objects were deleted one by one
  }
  return dropped;
}

Outcome<void> Bucket::drop_each(std::span<const std::string> keys) {
  for (const auto& key : keys) {
    if (auto dropped = drop_one(key, Effort::full); dropped.has_error()) return dropped;
  }
  return {};
}

Outcome<void> Bucket::drop_one(const std::string& key, Effort effort) {
  S3Request call;
  call.operation = "drop";
  limit(call, effort);
  call.method = "DELETE";
  call.key = key;
  const auto outcome = service_.send(call);
  if (outcome.has_error() && !is_missing(outcome.error())) return outcome.error();
  return {};
}

Outcome<void> Bucket::drop_batch(std::span<const std::string> keys, const std::string& checksum) {
  const auto document = deletion_document(keys);
  auto call = document_call("drop_many", "", {{"delete", ""}}, document);
  call.headers.push_back({"Content-MD5", checksum});
  call.is_expected = [](const Response& response) { return read_deletions(response.body).has_value(); };
  Retries retries(service_);
  for (;;) {
    const auto outcome = service_.send(call);
    if (outcome.has_error()) return outcome.error();
    const auto error = *read_deletions(outcome->body);
    if (error.code.empty()) return {};
    const auto& options = service_.options();
    const auto failure =
        explain(*outcome, error, {"DELETE", options.bucket, options.endpoint.text(), options.region, Time()});
    if (!retries.again(failure)) return failure;
  }
}

Outcome<ObjectPage> Bucket::list(const std::string& prefix, const std::string& from, int most) {
  S3Request call;
  call.operation = "list";
  call.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}, {"max-keys", std::to_string(most)}};
  if (!from.empty()) call.query.emplace_back("continuation-token", from);
  call.is_expected = [](const Response& response) { return read_objects(response.body).has_value(); };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) return outcome.error();
  return *read_objects(outcome->body);
}

Outcome<std::string> Bucket::begin(const std::string& key) {
  S3Request call;
  call.operation = "begin";
  call.method = "POST";
  call.key = key;
  call.query = {{"uploads", ""}};
  call.is_expected = [](const Response& response) { return read_upload_id(response.body).has_value(); };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) return outcome.error();
  return *read_upload_id(outcome->body);
}

Outcome<Part> Bucket::put_part(const std::string& key, const std::string& upload, int number, const Payload& payload) {
  S3Request call;
  call.operation = "put_part";
  call.method = "PUT";
  call.key = key;
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}};
  call.payload = payload;
  call.is_expected = [](const Response& response) { return !etag_of(response).empty(); };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) return outcome.error();
  return Part{number, etag_of(*outcome)};
}

Outcome<void> Bucket::complete(const std::string& key, const std::string& upload, std::span<const Part> parts,
                               std::uint64_t size) {
  const auto document = completion_document(parts);
  auto call = document_call("complete", key, {{"uploadId", upload}}, document);
  call.is_expected = [](const Response& response) { return read_completion(response.body).has_value(); };
  const auto outcome = service_.send(call);
  // The answer to an earlier attempt may have been lost: then the upload no longer exists, but the object does.
  if (outcome.has_error() && !is_missing(outcome.error())) return outcome.error();
  const auto kept = confirm(key, {size, ""});
  if (kept.has_error()) return outcome.has_error() ? outcome.error() : kept.error();
  if (!*kept) return report_not_kept(key);
  return {};
}

Outcome<void> Bucket::abort(const std::string& key, const std::string& upload, Effort effort) {
  S3Request call;
  call.operation = "abort";
  limit(call, effort);
  call.method = "DELETE";
  call.key = key;
  call.query = {{"uploadId", upload}};
  const auto outcome = service_.send(call);
  // NoSuchUpload, or NoSuchKey from some servers.
  if (outcome.has_error() && !is_missing(outcome.error())) return outcome.error();
  return {};
}

Outcome<UploadPage> Bucket::list_uploads(const std::string& prefix, const UploadPage& after) {
  S3Request call;
  call.operation = "list_uploads";
  call.query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}};
  if (!after.next_key.empty()) {
    call.query.emplace_back("key-marker", after.next_key);
    call.query.emplace_back("upload-id-marker", after.next_id);
  }
  call.is_expected = [](const Response& response) { return read_uploads(response.body).has_value(); };
  const auto outcome = service_.send(call);
  if (outcome.has_error()) return outcome.error();
  return *read_uploads(outcome->body);
}

}  // namespace restante::s3
