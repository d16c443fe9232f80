// OpenFile: an open blob that is a file. Owns its descriptor. Throws Unavailable.
#pragma once
#include "store/blobs.h"
#include "store/dir/blob_directory.h"

namespace restante::dir {

class OpenFile final : public OpenBlob {
 public:
  explicit OpenFile(Fd file) : file_(std::move(file)) {}
  std::uint64_t size() override;
  std::size_t read(std::uint64_t at, std::span<char> into) override;
  void forget() override;
  int fd() const override { return file_.get(); }

 private:
  const Fd file_;
};

}  // namespace restante::dir
