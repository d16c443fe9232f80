// BlobFile: the bytes of a blob in the making. They are gathered and written in large pieces that begin and end at a
// page, so that the page cache keeps them in large pieces too and can send them at the least cost; and they are on
// their way to the disk early. Belongs to one thread at a time and must not outlive its Place.
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
  // Everything that was written is durable, and no more than that is on the disk.
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
