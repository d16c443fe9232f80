#include "store/s3/blobs.h"

#include <vector>

#include "store/blob_key.h"
#include "store/s3/explain.h"
#include "store/s3/object_reader.h"
#include "store/s3/object_writer.h"

namespace restante::s3 {
namespace {

class OpenObject final : public OpenBlob {
 public:
  OpenObject(Bucket& bucket, const std::string& object, Stored stored)
      : object_(object), reader_(bucket, object, std::move(stored)) {}

  std::uint64_t size() override { return reader_.size(); }

  std::size_t read(std::uint64_t at, std::span<char> into) override {
    const auto got = reader_.read(at, into);
    if (got.has_value()) return *got;
    if (is_missing(got.error())) throw Unavailable("object " + object_ + " vanished while it was read");
    if (got.error().status == 412) throw Unavailable("object " + object_ + " was replaced while it was read");
    throw_failure(got.error());
  }

  void forget() override { reader_.forget(); }

 private:
  const std::string object_;
  ObjectReader reader_;
};

ServiceOptions reporting_to(RequestReporter& reporter, ServiceOptions options) {
  options.attempted = [&reporter](const Attempt& attempt) { reporter.attempted(attempt); };
  options.repeated = [&reporter] { reporter.repeated(); };
  return options;
}

template <class T>
T value_of(client::Outcome<T> outcome) {
  if (outcome.has_error()) throw_failure(outcome.error());
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

}  // namespace

Blobs::Blobs(Options options, const Clock& clock, Log& log, Metrics& metrics)
    : clock_(clock),
      prefix_(std::move(options.prefix)),
      reporter_(clock, log, metrics),
      credentials_(std::move(options.credentials), std::move(options.environment)),
      service_(reporting_to(reporter_, std::move(options.service)), credentials_, signing_clock_),
      bucket_(service_) {}

void Blobs::check() { value_of(bucket_.check(prefix_)); }

std::unique_ptr<BlobWriter> Blobs::put() {
  return std::make_unique<ObjectWriter>(bucket_, prefix_, new_blob_key(clock_.now()));
}

std::shared_ptr<OpenBlob> Blobs::open(std::string_view key) {
  if (!is_blob_key(key)) return nullptr;
  const auto object = object_of(key);
  auto stored = value_of(bucket_.head(object));
  if (stored) return std::make_shared<OpenObject>(bucket_, object, std::move(*stored));
  // The answer to HEAD has no body, so it does not show whether the object or the whole bucket is missing.
  check();
  return nullptr;
}

void Blobs::drop(std::string_view key) {
  if (is_blob_key(key)) value_of(bucket_.drop(std::array{object_of(key)}));
}

void Blobs::drop_all(std::span<const std::string> keys) {
  std::vector<std::string> objects;
  for (const auto& key : keys) {
    if (is_blob_key(key)) objects.push_back(object_of(key));
  }
  value_of(bucket_.drop(objects));
}

std::string_view Blobs::key_of(std::string_view object) const {
  if (!object.starts_with(prefix_)) return {};
  object.remove_prefix(prefix_.size());
  return is_blob_key(object) ? object : std::string_view();
}

BlobPage Blobs::list(std::string_view from, Time before) {
  auto objects = value_of(bucket_.list(prefix_, std::string(from)));
  BlobPage page;
  bool is_past = false;
  for (const auto& object : objects.objects) {
    const auto key = key_of(object.key);
    if (key.empty()) continue;
    is_past = time_of_blob_key(key) >= before;
    if (!is_past) page.keys.emplace_back(key);
  }
  // Keys sort by age: after a young one all are young.
  if (!is_past) page.next = std::move(objects.next);
  return page;
}

// An upload counts as old only by both clocks, ours in the key and that of S3: another server may still be writing it.
std::size_t Blobs::each_unfinished(Time before, const std::function<void(const UnfinishedUpload&)>& what) {
  std::size_t count = 0;
  UploadPage page;
  do {
    page = value_of(bucket_.list_uploads(prefix_, page));
    for (const auto& upload : page.uploads) {
      const auto key = key_of(upload.key);
      if (key.empty() || time_of_blob_key(key) >= before || upload.begun >= before) continue;
      what(upload);
      ++count;
    }
  } while (!page.next_key.empty());
  return count;
}

std::size_t Blobs::drop_unfinished(Time before) {
  return each_unfinished(before, [this](const auto& upload) { value_of(bucket_.abort(upload.key, upload.id)); });
}

std::optional<std::string> Blobs::mark() { return value_of(bucket_.read_small(object_of(kMarkName))); }

void Blobs::put_mark(const std::string& text, MarkMode how) {
  const auto object = object_of(kMarkName);
  value_of(how == MarkMode::anyway ? bucket_.put(object, payload_of(text)) : bucket_.put_new(object, payload_of(text)));
}

std::size_t Blobs::count_unfinished(Time before) {
  return each_unfinished(before, [](const auto&) {});
}

}  // namespace restante::s3
