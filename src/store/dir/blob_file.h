// BlobFile: the file of a blob that is being written. It collects bytes and writes them in large pieces that begin and
// end at a page: the page cache then keeps large pieces too, which are the cheapest to send. It starts writing to the
// disk early. Belongs to one thread at a time and must not outlive its BlobDirectory.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "store/dir/blob_directory.h"

namespace restante::dir {

class BlobFile {
 public:
  BlobFile(BlobDirectory& directory, Fd file) : directory_(directory), file_(std::move(file)) {}

  int fd() const { return file_.get(); }
  void write(std::string_view bytes);
  // Makes everything that was written durable, and gives reserved space back.
  void sync();

 private:
  void put_buffer();
  void reserve(std::int64_t end);

  BlobDirectory& directory_;
  Fd file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t gathered_ = 0;  // in the buffer
  std::int64_t put_ = 0;      // in the file
  std::int64_t reserved_ = 0;
  std::int64_t flushed_ = 0;
};

}  // namespace restante::dir
