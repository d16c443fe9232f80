// Blobs as objects: <prefix><32 hex> in one bucket. What finish() gives has been asked for and found there. A blob is
// called missing only while the bucket itself answers: a bucket that is mistyped, or gone, is Unavailable. Nothing is
// asked of S3 before the first use, so that a bucket that is not used yet need not be there. Several servers may share
// a bucket. Thread-safe and blocking; must outlive its drafts and open blobs. Throws Unavailable with the sentence for
// the operator, and StorageFull when S3 has no room for us.
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
  client::Environment environment = client::from_environment;  // of the credentials
};

class Blobs final : public restante::Blobs {
 public:
  // Keys carry the time of `clock`; requests are signed with this machine's own.
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

  // From any thread: every call, now and later, fails at once. For the end of the server.
  void cancel() { service_.cancel(); }
  // What does not work at present, as far as it was tried; empty when all is well.
  std::string trouble() const { return reporter_.trouble(); }

 private:
  // How many.
  std::size_t each_unfinished(Time before, const std::function<void(const UnfinishedUpload&)>& what);
  std::string object_of(std::string_view key) const { return prefix_ + std::string(key); }
  // The blob's key, or nothing where the object is none of ours.
  std::string_view key_of(std::string_view object) const;

  const Clock& clock_;               // of keys, which servers compare
  const SystemClock signing_clock_;  // S3 compares with its own: no other machine may set ours off
  const std::string prefix_;
  RequestReporter reporter_;
  CredentialSource credentials_;
  Service service_;
  Bucket bucket_;
};

}  // namespace restante::s3
