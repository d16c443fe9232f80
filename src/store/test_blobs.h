// HookedBlobs: passes calls to real Blobs. A test may set a hook for each kind of call; it runs before the call and may
// throw. All layers use this class to test failing Blobs. A hook that is not set does nothing.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/blobs.h"

namespace restante {

class HookedBlobs final : public Blobs {
 public:
  explicit HookedBlobs(Blobs& real) : real_(real) {}

  void check() override {
    call(checking);
    real_.check();
  }
  std::unique_ptr<BlobWriter> put() override {
    call(putting);
    return std::make_unique<Writer>(*this, real_.put());
  }
  std::shared_ptr<OpenBlob> open(std::string_view key) override {
    call(opening);
    auto blob = real_.open(key);
    if (!blob || !reading) return blob;
    return std::make_shared<Reader>([this, key = std::string(key)] { reading(key); }, std::move(blob));
  }
  void drop(std::string_view key) override {
    call(dropping);
    real_.drop(key);
  }
  // Sorted, so that a test knows the order.
  BlobPage list(std::string_view from, Time before) override {
    call(listing);
    BlobPage page = real_.list(from, before);
    std::ranges::sort(page.keys);
    return page;
  }
  std::size_t drop_unfinished(Time before) override {
    call(listing);
    return real_.drop_unfinished(before);
  }
  std::size_t count_unfinished(Time before) override {
    call(listing);
    return real_.count_unfinished(before);
  }
  std::optional<std::string> mark() override { return real_.mark(); }
  void put_mark(const std::string& text, MarkMode mode) override { real_.put_mark(text, mode); }

  std::function<void()> checking;
  std::function<void()> putting;
  std::function<void()> writing;
  std::function<void()> finishing;
  std::function<void()> opening;
  std::function<void(const std::string& key)> reading;  // of blobs that are opened afterwards
  std::function<void()> dropping;
  std::function<void()> listing;  // of blobs, also of unfinished ones

 private:
  class Writer final : public BlobWriter {
   public:
    Writer(HookedBlobs& blobs, std::unique_ptr<BlobWriter> real) : blobs_(blobs), real_(std::move(real)) {}
    void write(std::string_view bytes) override {
      call(blobs_.writing);
      real_->write(bytes);
    }
    std::string finish() override {
      call(blobs_.finishing);
      return real_->finish();
    }

   private:
    HookedBlobs& blobs_;
    std::unique_ptr<BlobWriter> real_;
  };

  class Reader final : public OpenBlob {
   public:
    Reader(std::function<void()> hook, std::shared_ptr<OpenBlob> real)
        : hook_(std::move(hook)), real_(std::move(real)) {}
    std::uint64_t size() override { return real_->size(); }
    std::size_t read(std::uint64_t at, std::span<char> into) override {
      hook_();
      return real_->read(at, into);
    }
    void forget() override { real_->forget(); }

   private:
    const std::function<void()> hook_;
    const std::shared_ptr<OpenBlob> real_;
  };

  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  Blobs& real_;
};

}  // namespace restante
