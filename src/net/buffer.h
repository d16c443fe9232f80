// Buffer has bytes that were read and not yet processed. It grows as needed and is released when it is empty, so that
// an idle connection owns none. Belongs to its connection.
#pragma once
#include <cstring>
#include <memory>
#include <string_view>

namespace restante::net {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Returns room for `size` more bytes; commit() adds those that were written.
  char* prepare(std::size_t size) {
    if (capacity_ - end_ < size) make_room(size);
    return data_.get() + end_;
  }
  void commit(std::size_t size) { end_ += size; }
  void consume(std::size_t size) {
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Puts bytes back before the current content.
  void prepend(std::string_view bytes) {
    if (bytes.empty()) return;
    Buffer joined;
    char* const room = joined.prepare(bytes.size() + view().size());
    std::memcpy(room, bytes.data(), bytes.size());
    if (!empty()) std::memcpy(room + bytes.size(), view().data(), view().size());
    joined.commit(bytes.size() + view().size());
    *this = std::move(joined);
  }
  void release_if_empty() {
    if (!empty()) return;
    data_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void make_room(std::size_t size) {
    const std::size_t held = end_ - begin_;
    const std::size_t capacity = std::max(capacity_, held + size);
    auto data = std::make_unique_for_overwrite<char[]>(capacity);
    if (held > 0) std::memcpy(data.get(), data_.get() + begin_, held);
    data_ = std::move(data);
    capacity_ = capacity;
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace restante::net
