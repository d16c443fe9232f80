// Blobs as objects: <prefix><32 hex> in one bucket. finish() returns after S3 has confirmed that the object exists. A
// blob counts as missing only while the bucket itself answers: a mistyped or deleted bucket is Unavailable. No request
// is sent before the first use, so that a bucket that is not used yet need not exist. Several servers may share a
// bucket. Thread-safe and blocking; must outlive its writers and open blobs. Throws Unavailable with a sentence for the
// operator, and StorageFull when the storage or quota of S3 is full.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "store/blobs.h"
#include "store/s3/bucket.h"
#include "store/s3/request_reporter.h"

namespace restante::s3 {

struct Options {
  ServiceOptions service;
  CredentialSettings credentials;
  std::string prefix;
  client::Environment environment = client::from_environment;  // where credentials may be set
};

class Blobs final : public restante::Blobs {
 public:
  // Keys have the time of `clock`; requests are signed with this machine's clock.
  Blobs(Options options, const Clock& clock, Log& log, Metrics& metrics);

  void check() override;
  std::unique_ptr<BlobWriter> put() override;
  std::shared_ptr<OpenBlob> open(std::string_view key) override;
  void drop(std::string_view key) override;
  void drop_all(std::span<const std::string> keys) override;
  BlobPage list(std::string_view from, Time before) override;
  std::size_t drop_unfinished(Time before) override;
  std::size_t count_unfinished(Time before) override;
  std::optional<std::string> mark() override;
  void put_mark(const std::string& text, MarkMode how) override;

  // From any thread: every call, running or later, fails at once. For the shutdown of the server.
  void cancel() { service_.cancel(); }
  // What does not work now, by the requests that were made; empty when none has failed.
  std::string trouble() const { return reporter_.trouble(); }

 private:
  // Calls `what` for each; returns how many there were.
  std::size_t each_unfinished(Time before, const std::function<void(const UnfinishedUpload&)>& what);
  std::string object_of(std::string_view key) const { return prefix_ + std::string(key); }
  // The blob's key; empty when the object is not a blob of ours.
  std::string_view key_of(std::string_view object) const;

  const Clock& clock_;               // for keys, which servers compare
  const SystemClock signing_clock_;  // S3 compares it with its own, so the time of another machine must not change it
  const std::string prefix_;
  RequestReporter reporter_;
  CredentialSource credentials_;
  Service service_;
  Bucket bucket_;
};

}  // namespace restante::s3
