// HookedBlobs: real bytes; before they are put, finished, opened or dropped a test may do something, or throw. For
// tests of desk/.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "store/blobs.h"

namespace restante::desk {

class HookedBlobs final : public Blobs {
 public:
  explicit HookedBlobs(Blobs& real) : real_(real) {}

  void check() override { real_.check(); }
  std::unique_ptr<BlobWriter> put() override {
    if (putting) putting();
    return std::make_unique<Writer>(*this, real_.put());
  }
  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    if (opening) opening();
    return real_.open(key);
  }
  void drop(std::string_view key) override {
    if (dropping) dropping();
    real_.drop(key);
  }
  // In order, so that a test knows who comes after whom.
  BlobPage list(std::string_view from, Time before) override {
    BlobPage page = real_.list(from, before);
    std::ranges::sort(page.keys);
    return page;
  }
  std::size_t drop_unfinished(Time before) override { return real_.drop_unfinished(before); }
  std::size_t count_unfinished(Time before) override { return real_.count_unfinished(before); }

  std::function<void()> putting;
  std::function<void()> finishing;
  std::function<void()> opening;
  std::function<void()> dropping;

 private:
  class Writer final : public BlobWriter {
   public:
    Writer(HookedBlobs& blobs, std::unique_ptr<BlobWriter> real) : blobs_(blobs), real_(std::move(real)) {}
    void write(std::string_view bytes) override { real_->write(bytes); }
    std::string finish() override {
      if (blobs_.finishing) blobs_.finishing();
      return real_->finish();
    }

   private:
    HookedBlobs& blobs_;
    std::unique_ptr<BlobWriter> real_;
  };

  Blobs& real_;
};

}  // namespace restante::desk
