// Every place for blobs except s3, which needs a separate server (tests/s3).
#include "backends.h"
#include "base/test_folder.h"
#include "blobs_suite.h"
#include "store/dir/blobs.h"
#include "store/inline/blobs.h"

namespace restante::testing {
namespace {

class DirPlace final : public BlobsPlace {
 public:
  explicit DirPlace(dir::TemporaryNames temporary_names) : temporary_names_(temporary_names) {}
  std::unique_ptr<Blobs> open() override { return dir::open(directory_ / "blobs", temporary_names_); }

 private:
  const dir::TemporaryNames temporary_names_;
  TestFolder directory_;
};

class InlinePlace final : public BlobsPlace {
 public:
  explicit InlinePlace(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  std::unique_ptr<Blobs> open() override {
    store_.reset();
    store_ = backend_->open();
    return inlined::open(store_->chunks(), clock_);
  }

 private:
  const SystemClock clock_;
  const std::unique_ptr<Backend> backend_;
  std::unique_ptr<Store> store_;
};

std::vector<BlobsKind> places() {
  std::vector<BlobsKind> all = {
      {"Files", [] { return std::make_unique<DirPlace>(dir::TemporaryNames::unnamed_if_possible); }},
      {"FilesWithNamedDrafts", [] { return std::make_unique<DirPlace>(dir::TemporaryNames::named); }}};
  for (const BackendKind& kind : all_backends()) {
    all.push_back({"Inline" + kind.name, [kind] { return std::make_unique<InlinePlace>(kind.make()); }});
  }
  return all;
}

RESTANTE_PLACES(Places, places());

}  // namespace
}  // namespace restante::testing
